// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "contract.h"

static double clock_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

double now_ms(void) {
  return clock_ms(CLOCK_MONOTONIC);
}

double cpu_ms(void) {
  return clock_ms(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_ms(double ms) {
  const long ns = (long)(ms * 1e6);
  const struct timespec time = {ns / 1000000000, ns % 1000000000};
  nanosleep(&time, NULL);
}

void* new_stream(unsigned int flags) {
  void* stream = NULL;
  MUST(cuStreamCreate(&stream, flags));
  return stream;
}

void* new_event(void) {
  void* event = NULL;
  MUST(cuEventCreate(&event, 0));
  return event;
}

uint64_t new_memory(size_t bytes) {
  unsigned long long pointer = 0;
  MUST(cuMemAlloc_v2(&pointer, bytes));
  return pointer;
}

void* new_pinned(size_t bytes) {
  void* pointer = NULL;
  MUST(cuMemAllocHost_v2(&pointer, bytes));
  memset(pointer, 0, bytes);
  return pointer;
}

void launch(void* stream, double ms) {
  uint64_t ns = (uint64_t)(ms * 1e6);
  void* parameters[] = {&ns};
  MUST(cuLaunchKernel(g_spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

void* mark(void* stream) {
  void* event = new_event();
  MUST(cuEventRecord(event, stream));
  return event;
}

const char* answer(int result) {
  switch (result) {
    case kSuccess:
      return "done";
    case kNotReady:
      return "pending";
    default:
      return "an error";
  }
}

bool all_bytes(const void* memory, unsigned char value, size_t bytes) {
  const unsigned char* at = memory;
  for (size_t i = 0; i < bytes; i++) {
    if (at[i] != value) return false;
  }
  return true;
}

struct Body {
  void (*run)(void*);
  void* argument;
};

static void* thread_main(void* argument) {
  const struct Body* body = argument;
  body->run(body->argument);
  return NULL;
}

void in_thread(void (*run)(void*), void* argument) {
  struct Body body = {run, argument};
  pthread_t thread;
  const int error = pthread_create(&thread, NULL, thread_main, &body);
  must("pthread_create", error);
  pthread_join(thread, NULL);
}

static sigjmp_buf g_before_call;

static void on_signal(int number) {
  siglongjmp(g_before_call, number);
}

int call_with_dead_handle(int (*function)(void*), void* handle) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  const int number = sigsetjmp(g_before_call, 1);
  return number ? -number : function(handle);
}
