/* SPDX-License-Identifier: Apache-2.0
 *
 * subject DRIVER MODE [ARGUMENT...]: a target that has the accelerator's driver mapped, says
 * "ready" and then, until its input ends or it is killed, does what the mode says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void* driver;
static int (*synchronize)(void);
static long pause_us;
static char** next_program;

static void say(const char* what) {
  printf("%s\n", what);
  fflush(stdout);
}

static void wait_for_line(void) {
  char c;
  while (read(0, &c, 1) == 1 && c != '\n') {
  }
}

static void* symbol(const char* name) {
  void* found = dlsym(driver, name);
  if (!found) exit(10);
  return found;
}

static void make_context(void) {
  void* context;
  if (((int (*)(unsigned))symbol("cuInit"))(0)) exit(11);
  if (((int (*)(void**, unsigned, int))symbol("cuCtxCreate_v2"))(&context, 0, 0)) exit(12);
  synchronize = (int (*)(void))symbol("cuCtxSynchronize");
}

static void* call_for_ever(void* unused) {
  (void)unused;
  for (;;) {
    synchronize();
    if (pause_us) usleep((useconds_t)pause_us);
  }
}

static void* stay(void* unused) {
  (void)unused;
  for (;;) pause();
}

static void* map_for_ever(void* unused) {
  (void)unused;
  for (;;) {
    void* area = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (area != MAP_FAILED) munmap(area, 1 << 20);
  }
}

static void* become_next(void* unused) {
  (void)unused;
  execv(next_program[0], next_program);
  _exit(13);
}

static void start(int count, void* (*body)(void*)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, body, NULL)) exit(14);
  }
}

static void live(const char* name) {
  prctl(PR_SET_NAME, name);
  for (int i = 0; i < 50; i++) usleep(2000);
  _exit(0);
}

static pid_t child(const char* name, pid_t number) {
  struct clone_args how;
  memset(&how, 0, sizeof how);
  how.exit_signal = SIGCHLD;
  if (number) {
    how.set_tid = (uintptr_t)&number;
    how.set_tid_size = 1;
  }
  const pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof how);
  if (pid == 0) live(name);
  if (pid > 0) waitpid(pid, NULL, 0);
  return pid;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  driver = dlopen(argv[1], RTLD_NOW);
  if (!driver) return 3;
  const char* mode = argv[2];
  const int number = argc > 3 ? atoi(argv[3]) : 0;
  if (!strcmp(mode, "threads")) {
    start(number - 1, stay);
    say("ready");
    wait_for_line();
  } else if (!strcmp(mode, "storm")) {
    say("ready");
    for (;;) {
      const pid_t pid = fork();
      if (pid == 0) _exit(0);
      if (pid > 0) waitpid(pid, NULL, 0);
    }
  } else if (!strcmp(mode, "call")) { /* THREADS PAUSE_US */
    pause_us = atol(argv[4]);
    make_context();
    say("ready");
    start(number - 1, call_for_ever);
    call_for_ever(NULL);
  } else if (!strcmp(mode, "map")) {
    start(number, map_for_ever);
    say("ready");
    wait_for_line();
  } else if (!strcmp(mode, "exec")) { /* FROM_THREAD PROGRAM ARGUMENT... */
    next_program = argv + 4;
    make_context();
    say("ready");
    wait_for_line();
    if (number) {
      start(3, stay);
      start(1, become_next);
      stay(NULL);
    }
    become_next(NULL);
  } else if (!strcmp(mode, "reuse")) {
    say("ready");
    wait_for_line();
    const pid_t first = child("first-life", 0);
    const pid_t second = child("second-life", first);
    printf("%d %d\n", first, second);
    fflush(stdout);
    wait_for_line();
  } else {
    return 2;
  }
  return 0;
}
