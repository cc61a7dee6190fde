// SPDX-License-Identifier: Apache-2.0
//
// libcuda_caller LIBRARY: calls functions of a driver library that has no device, by name.
//
// First line: {"cuInit": RESULT, "arguments": [twelve numbers]}. Then for each line `SYMBOL` on its
// input one line `SYMBOL WORD RESULT`, or `SYMBOL WORD signal N`; WORD is what the first argument
// points to after the call. Each call gets the same twelve arguments. They are addresses of memory
// that is full of addresses of itself, so that what the library looks up in a handle before it
// finds that there is no device is readable, and leads nowhere else.
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { kArguments = 12, kWords = 65536 };

typedef int (*Function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                        uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static uintptr_t g_memory[kArguments][kWords];
static uintptr_t g_arguments[kArguments];
static sigjmp_buf g_before;

/// Also with what an earlier call has written over.
static void fill_memory(void) {
  for (int i = 0; i < kArguments; i++) {
    g_arguments[i] = (uintptr_t)&g_memory[i][kWords / 2];
    for (int j = 0; j < kWords; j++) g_memory[i][j] = g_arguments[i];
  }
}

static void on_signal(int signal) {
  siglongjmp(g_before, signal);
}

static void* function_of(void* library, const char* name) {
  return dlsym(library, name);
}

static Function callable(void* address) {
  Function function;
  memcpy(&function, &address, sizeof(function));
  return function;
}

static int call(Function f) {
  const uintptr_t* a = g_arguments;
  return f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]);
}

static void call_by_name(void* library, const char* name) {
  void* address = function_of(library, name);
  if (!address) {
    printf("%s 0 missing\n", name);
    return;
  }
  fill_memory();
  const int signal = sigsetjmp(g_before, 1);
  const int result = signal == 0 ? call(callable(address)) : signal;
  const uintmax_t word = *(const uintptr_t*)g_arguments[0];
  printf("%s %ju %s%d\n", name, word, signal ? "signal " : "", result);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  fill_memory();
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  sigaction(SIGABRT, &action, NULL);

  int (*init)(unsigned int);
  void* address = function_of(library, "cuInit");
  if (!address) return 1;
  memcpy(&init, &address, sizeof(init));
  printf("{\"cuInit\": %d, \"arguments\": [", init(0));
  for (int i = 0; i < kArguments; i++) printf("%s%ju", i ? ", " : "", (uintmax_t)g_arguments[i]);
  printf("]}\n");
  fflush(stdout);

  char line[256];
  while (fgets(line, sizeof(line), stdin)) {
    line[strcspn(line, "\n")] = '\0';
    call_by_name(library, line);
    fflush(stdout);
  }
  return 0;
}
