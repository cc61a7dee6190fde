// SPDX-License-Identifier: Apache-2.0
//
// contract [options]: checks what a CUDA driver library does against the rules that whystall's
// proofs, and the simulated driver, rely on. It runs on the real driver as on the stand-in. One
// line for each rule: `ok|FAIL|skip RULE: detail`, and `N ok, N failed, N skipped` at the end.
//
// Each rule is checked in a process of its own, which may crash or hang: the others do not see it.
// What fails is tried again, and fails if it does so each time: a busy host can make a thread miss
// what it should have seen.
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract.h"
#include "spin.h"

struct Driver cu;
void* g_library;
void* g_context;
void* g_spin;

enum { kAttempts = 3, kTimeoutMs = 60000, kNoDeviceExit = 77 };

static const char kUsage[] =
    "usage: contract [options]\n"
    "  --library PATH  the driver library (default libcuda.so.1)\n"
    "  --only RULE     checks this one; may be repeated\n"
    "  --list          prints the rules\n";

static const char kBase[] =
    "cuInit cuDeviceGet cuDeviceGetCount cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxSetCurrent "
    "cuCtxGetCurrent cuCtxSynchronize cuStreamCreate cuStreamDestroy_v2 cuStreamSynchronize "
    "cuStreamQuery cuStreamWaitEvent cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventQuery "
    "cuEventSynchronize cuMemAlloc_v2 cuMemFree_v2 cuMemAllocHost_v2 cuMemFreeHost "
    "cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyHtoD_v2 cuMemcpyDtoH_v2 cuMemsetD8Async "
    "cuModuleLoadData cuModuleGetFunction cuLaunchKernel";

static const struct Check* const kGroups[] = {kLookupChecks,    kEventChecks,  kStreamChecks,
                                              kPerThreadChecks, kMemoryChecks, kCopyChecks,
                                              kContextChecks,   kGraphChecks,  kQueueChecks};

/// What the process of a check says, in memory that it shares with its parent.
struct Said {
  bool finished, failed;
  char failure[512];
  char notes[512];
};
static struct Said* g_said;

static void end_check(void) {
  g_said->finished = true;
  _exit(0);
}

static void append(char* to, size_t size, const char* format, va_list arguments) {
  const size_t used = strlen(to);
  const char* between = used ? "; " : "";
  if (used + 3 >= size) return;
  strcpy(to + used, between);
  vsnprintf(to + used + strlen(between), size - used - strlen(between), format, arguments);
}

void note(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  append(g_said->notes, sizeof(g_said->notes), format, arguments);
  va_end(arguments);
}

void expect(bool condition, const char* format, ...) {
  if (condition || g_said->failed) return;
  va_list arguments;
  va_start(arguments, format);
  append(g_said->failure, sizeof(g_said->failure), format, arguments);
  va_end(arguments);
  g_said->failed = true;
}

void expect_result(const char* call, int result, int wanted) {
  expect(result == wanted, "%s returned %d, not %d", call, result, wanted);
}

void must(const char* call, int result) {
  if (result == kSuccess) return;
  expect(false, "%s returned %d", call, result);
  end_check();
}

/// The first of the functions that the library lacks; null if it has all.
static const char* first_missing(const char* needs) {
  static char name[128];
  for (const char* at = needs; *at;) {
    const size_t length = strcspn(at, " ");
    snprintf(name, sizeof(name), "%.*s", (int)length, at);
    if (length && !dlsym(g_library, name)) return name;
    at += length;
    at += strspn(at, " ");
  }
  return NULL;
}

static bool load(const char* path) {
  g_library = dlopen(path, RTLD_NOW);
  if (!g_library) {
    fprintf(stderr, "contract: %s\n", dlerror());
    return false;
  }
#define FUNCTION(name, arguments)                \
  {                                              \
    void* address = dlsym(g_library, #name);     \
    memcpy(&cu.name, &address, sizeof(address)); \
  }
#include "functions.h"
#undef FUNCTION
  const char* missing = first_missing(kBase);
  if (missing) fprintf(stderr, "contract: %s is no driver library: it has no %s\n", path, missing);
  return !missing;
}

void load_spin(void) {
  void* module = NULL;
  MUST(cuModuleLoadData(&module, kSpinPtx));
  MUST(cuModuleGetFunction(&g_spin, module, "spin_ns"));
}

static void set_up(void) {
  int device = 0;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuCtxCreate_v2(&g_context, 0, device));
  load_spin();
  // What a driver does at the first use only is no part of what is measured.
  launch(NULL, 0.01);
  MUST(cuCtxSynchronize());
}

/// Runs it in a process of its own; what it said is in g_said.
static void run_apart(void (*prepare)(void), void (*body)(void)) {
  memset(g_said, 0, sizeof(*g_said));
  int ends[2];
  if (pipe(ends) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (prepare) prepare();
    body();
    end_check();
  }
  close(ends[1]);
  // The other end closes when the process is gone, and those that it left behind are.
  struct pollfd gone = {ends[0], POLLIN, 0};
  int ready;
  do {
    ready = poll(&gone, 1, kTimeoutMs);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  if (g_said->finished) return;
  g_said->failed = true;
  if (ready == 0) {
    snprintf(g_said->failure, sizeof(g_said->failure), "did not end within %d s",
             kTimeoutMs / 1000);
  } else if (WIFSIGNALED(status)) {
    snprintf(g_said->failure, sizeof(g_said->failure), "died of signal %d", WTERMSIG(status));
  } else {
    snprintf(g_said->failure, sizeof(g_said->failure), "ended early");
  }
}

static void look_for_device(void) {
  int count = 0;
  MUST(cuInit(0));
  MUST(cuDeviceGetCount(&count));
  expect(count > 0, "it has no device");
}

struct Counts {
  unsigned int ok, failed, skipped;
};

static void tell(const char* verdict, const char* rule) {
  const bool both = g_said->failure[0] && g_said->notes[0];
  const char* detail = g_said->failure[0] || g_said->notes[0] ? ": " : "";
  printf("%s %s%s%s%s%s\n", verdict, rule, detail, g_said->failure, both ? "; " : "",
         g_said->notes);
  fflush(stdout);
}

static void run_check(const struct Check* check, struct Counts* counts) {
  const char* missing = first_missing(check->needs);
  if (missing) {
    counts->skipped++;
    printf("skip %s: the library has no %s\n", check->rule, missing);
    return;
  }
  for (int attempt = 1; attempt <= kAttempts; attempt++) {
    run_apart(check->without_device ? NULL : set_up, check->run);
    if (!g_said->failed) break;
    if (attempt < kAttempts) tell("again", check->rule);
  }
  if (g_said->failed) {
    counts->failed++;
  } else {
    counts->ok++;
  }
  tell(g_said->failed ? "FAIL" : "ok", check->rule);
}

static bool wanted(const char* rule, char** only, int count) {
  for (int i = 0; i < count; i++) {
    if (strcmp(only[i], rule) == 0) return true;
  }
  return count == 0;
}

static void run_all(bool without_device, char** only, int count, struct Counts* counts) {
  for (size_t group = 0; group < sizeof(kGroups) / sizeof(*kGroups); group++) {
    for (const struct Check* check = kGroups[group]; check->rule; check++) {
      if (check->without_device == without_device && wanted(check->rule, only, count)) {
        run_check(check, counts);
      }
    }
  }
}

static void list_rules(void) {
  for (size_t group = 0; group < sizeof(kGroups) / sizeof(*kGroups); group++) {
    for (const struct Check* check = kGroups[group]; check->rule; check++) puts(check->rule);
  }
}

int main(int argc, char** argv) {
  const char* path = "libcuda.so.1";
  char** only = calloc((size_t)argc, sizeof(*only));
  int count = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--library") == 0 && i + 1 < argc) {
      path = argv[++i];
    } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
      only[count++] = argv[++i];
    } else if (strcmp(argv[i], "--list") == 0) {
      list_rules();
      return 0;
    } else {
      fputs(kUsage, stderr);
      return 2;
    }
  }
  g_said = mmap(NULL, sizeof(*g_said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!only || g_said == MAP_FAILED || !load(path)) return 2;

  struct Counts counts = {0, 0, 0};
  run_all(true, only, count, &counts);
  run_apart(NULL, look_for_device);
  const bool device = !g_said->failed;
  char why[sizeof(g_said->failure)];
  strcpy(why, g_said->failure);
  if (device) run_all(false, only, count, &counts);
  printf("%u ok, %u failed, %u skipped\n", counts.ok, counts.failed, counts.skipped);
  if (counts.failed) return 1;
  if (device && counts.ok + counts.skipped == 0) fputs("contract: no such rule\n", stderr);
  if (device) return counts.ok + counts.skipped ? 0 : 2;
  printf("no device: %s\n", why);
  return kNoDeviceExit;
}
