// SPDX-License-Identifier: Apache-2.0
// Contexts, threads and processes.
#include <sys/wait.h>
#include <unistd.h>

#include "contract.h"

enum { kSpin = 1, kYield = 2, kBlockingSync = 4 };  // context flags
enum { kEventBlockingSync = 1 };

static void* current(void) {
  void* context = NULL;
  MUST(cuCtxGetCurrent(&context));
  return context;
}

static void* new_context(unsigned int flags) {
  void* context = NULL;
  MUST(cuCtxCreate_v2(&context, flags, 0));
  return context;
}

static void context_synchronize_covers_all_streams(void) {
  void* blocking = new_stream(kBlocking);
  void* apart = new_stream(kNonBlocking);
  launch(apart, 3 * kLongMs);
  launch(blocking, kLongMs);
  launch(NULL, kShortMs);
  EXPECT(cuStreamQuery(apart), kNotReady);
  MUST(cuCtxSynchronize());
  EXPECT(cuStreamQuery(blocking), kSuccess);
  EXPECT(cuStreamQuery(apart), kSuccess);
  EXPECT(cuStreamQuery(NULL), kSuccess);
}

static void context_synchronize_leaves_another_context_pending(void) {
  void* stream = new_stream(kNonBlocking);
  void* second = new_context(0);
  MUST(cuCtxSetCurrent(g_context));
  launch(stream, 3 * kLongMs);
  void* event = mark(stream);
  MUST(cuCtxSetCurrent(second));
  MUST(cuCtxSynchronize());
  MUST(cuCtxSetCurrent(g_context));
  EXPECT(cuEventQuery(event), kNotReady);
  MUST(cuCtxSynchronize());
  EXPECT(cuEventQuery(event), kSuccess);
}

static void context_is_current_when_it_is_created(void) {
  expect(current() == g_context, "another one is");
  void* second = new_context(0);
  expect(current() == second, "the second one is not");
}

static void context_set_to_nothing_is_none(void) {
  unsigned long long memory = 0;
  void* stream = NULL;
  MUST(cuCtxSetCurrent(NULL));
  expect(current() == NULL, "there still is one");
  EXPECT(cuCtxSynchronize(), kInvalidContext);
  EXPECT(cuMemAlloc_v2(&memory, 4096), kInvalidContext);
  EXPECT(cuStreamCreate(&stream, 0), kInvalidContext);
}

static void context_stack_gives_back_what_was_pushed(void) {
  void* popped = NULL;
  void* second = new_context(0);  // on top of the first
  MUST(cuCtxPopCurrent_v2(&popped));
  expect(popped == second, "pop gave another than the created one");
  expect(current() == g_context, "the first one is not current again");
  MUST(cuCtxPushCurrent_v2(second));
  expect(current() == second, "push did not make it current");
  MUST(cuCtxPopCurrent_v2(&popped));
  MUST(cuCtxPopCurrent_v2(&popped));
  expect(popped == g_context, "pop gave another than the first one");
  expect(current() == NULL, "there is one below the first");
}

static void look_at_fresh_thread(void* unused) {
  (void)unused;
  expect(current() == NULL, "a new thread has a context");
  MUST(cuCtxSetCurrent(g_context));
  expect(current() == g_context, "it was not set");
  MUST(cuCtxSetCurrent(NULL));
}

static void context_is_current_in_its_thread_only(void) {
  in_thread(look_at_fresh_thread, NULL);
  expect(current() == g_context, "another thread changed it");
}

static void context_destroyed_with_pending_work(void) {
  void* second = new_context(0);
  load_spin();
  launch(new_stream(kNonBlocking), kLongMs);
  const double begun = now_ms();
  MUST(cuCtxDestroy_v2(second));
  note("it took %.0f ms beside work of %d ms", now_ms() - begun, kLongMs);
  note("the current context is %s then", current() == g_context ? "the one before" : "none");
}

static void primary_context_is_one_for_all_its_users(void) {
  void* first = NULL;
  void* again = NULL;
  MUST(cuDevicePrimaryCtxRetain(&first, 0));
  MUST(cuDevicePrimaryCtxRetain(&again, 0));
  expect(first == again, "there are two");
  expect(current() == g_context, "the retain made it current");
  EXPECT(cuDevicePrimaryCtxRelease_v2(0), kSuccess);
  EXPECT(cuCtxSetCurrent(first), kSuccess);
  EXPECT(cuCtxSynchronize(), kSuccess);
  EXPECT(cuDevicePrimaryCtxRelease_v2(0), kSuccess);
}

static void primary_context_is_active_while_it_is_retained(void) {
  void* context = NULL;
  unsigned int flags = 0;
  int active = -1;
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  expect(active == 0, "it is active before");
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  expect(active == 1, "it is not active");
  MUST(cuDevicePrimaryCtxRelease_v2(0));
  MUST(cuDevicePrimaryCtxGetState(0, &flags, &active));
  expect(active == 0, "it is active after");
}

/// The waits are right in each way of waiting; what they cost is told.
static void waits_return_when_the_work_is_done_with(unsigned int flags, const char* name) {
  MUST(cuCtxDestroy_v2(g_context));
  g_context = new_context(flags);
  load_spin();
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  void* event = mark(stream);
  double cpu = cpu_ms();
  MUST(cuStreamSynchronize(stream));
  EXPECT(cuEventQuery(event), kSuccess);
  note("%s: a stream's wait of %d ms took %.0f ms of CPU", name, kLongMs, cpu_ms() - cpu);
  launch(stream, kLongMs);
  MUST(cuEventRecord(event, stream));
  cpu = cpu_ms();
  MUST(cuEventSynchronize(event));
  EXPECT(cuStreamQuery(stream), kSuccess);
  note("an event's %.0f", cpu_ms() - cpu);
  launch(stream, kLongMs);
  MUST(cuEventRecord(event, stream));
  cpu = cpu_ms();
  MUST(cuCtxSynchronize());
  EXPECT(cuEventQuery(event), kSuccess);
  note("the context's %.0f", cpu_ms() - cpu);
}

static void waits_that_spin_return_when_the_work_is_done(void) {
  waits_return_when_the_work_is_done_with(kSpin, "spin");
}

static void waits_that_yield_return_when_the_work_is_done(void) {
  waits_return_when_the_work_is_done_with(kYield, "yield");
}

static void waits_that_block_return_when_the_work_is_done(void) {
  waits_return_when_the_work_is_done_with(kBlockingSync, "blocking");
}

static void waits_of_the_default_flags_return_when_the_work_is_done(void) {
  waits_return_when_the_work_is_done_with(0, "default");
}

static void blocking_event_blocks_in_a_context_that_spins(void) {
  void* stream = new_stream(kNonBlocking);
  void* event = NULL;
  MUST(cuEventCreate(&event, kEventBlockingSync));
  launch(stream, kLongMs);
  MUST(cuEventRecord(event, stream));
  const double cpu = cpu_ms();
  MUST(cuEventSynchronize(event));
  const double spent = cpu_ms() - cpu;
  EXPECT(cuStreamQuery(stream), kSuccess);
  expect(spent < 0.5 * kLongMs, "a wait of %d ms took %.0f ms of CPU", kLongMs, spent);
  note("%.1f ms of CPU", spent);
}

/// Exit status of a forked child that calls the driver: 0 if each call failed.
static int use_after_fork(void) {
  unsigned long long memory = 0;
  int used = 0;
  const int init = cu.cuInit(0);
  const int sync = cu.cuCtxSynchronize();
  used |= sync == kSuccess;
  used |= cu.cuMemAlloc_v2(&memory, 4096) == kSuccess;
  note("in the child cuInit returns %d, cuCtxSynchronize %d", init, sync);
  return used;
}

static void child_of_a_process_that_uses_the_driver_cannot(void) {
  const pid_t child = fork();
  if (child == 0) _exit(use_after_fork());
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status is %#x",
         (unsigned int)status);
  void* stream = new_stream(kNonBlocking);
  launch(stream, 1);
  EXPECT(cuStreamSynchronize(stream), kSuccess);
}

static void wrong_devices_and_flags_are_errors(void) {
  int device = 0;
  void* context = NULL;
  EXPECT(cuInit(1), kInvalidValue);
  EXPECT(cuDeviceGet(&device, 9999), kInvalidDevice);
  EXPECT(cuDeviceGet(NULL, 0), kInvalidValue);
  EXPECT(cuCtxCreate_v2(&context, 0xffff0000, 0), kInvalidValue);
  EXPECT(cuCtxGetCurrent(NULL), kInvalidValue);
}

const struct Check kContextChecks[] = {
    RULE(context_synchronize_covers_all_streams, ""),
    RULE(context_synchronize_leaves_another_context_pending, ""),
    RULE(context_is_current_when_it_is_created, ""),
    RULE(context_set_to_nothing_is_none, ""),
    RULE(context_stack_gives_back_what_was_pushed, "cuCtxPushCurrent_v2 cuCtxPopCurrent_v2"),
    RULE(context_is_current_in_its_thread_only, ""),
    RULE(context_destroyed_with_pending_work, ""),
    RULE(primary_context_is_one_for_all_its_users,
         "cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2"),
    RULE(primary_context_is_active_while_it_is_retained,
         "cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxGetState"),
    RULE(waits_that_spin_return_when_the_work_is_done, ""),
    RULE(waits_that_yield_return_when_the_work_is_done, ""),
    RULE(waits_that_block_return_when_the_work_is_done, ""),
    RULE(waits_of_the_default_flags_return_when_the_work_is_done, ""),
    RULE(blocking_event_blocks_in_a_context_that_spins, ""),
    RULE(child_of_a_process_that_uses_the_driver_cannot, ""),
    RULE(wrong_devices_and_flags_are_errors, ""),
    RULES_END};
