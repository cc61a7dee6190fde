// SPDX-License-Identifier: Apache-2.0
// Launches: how many are taken, from where, and host functions among them.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "contract.h"

enum { kLeastDepth = 256, kMostDepth = 8192 };

static void launch_blocks_when_about_a_thousand_are_pending(void) {
  void* stream = new_stream(kNonBlocking);
  const double begun = now_ms();
  launch(stream, 10 * kLongMs);
  void* first = mark(stream);
  int depth = 0;
  double quick_ms = 0;
  while (depth < 2 * kMostDepth && cu.cuEventQuery(first) == kNotReady) {
    quick_ms = now_ms() - begun;
    launch(stream, 0.001);
    depth++;
  }
  // The last of them came back when there was room, and then the long kernel was done.
  const double blocked_ms = now_ms() - begun - quick_ms;
  MUST(cuStreamSynchronize(stream));
  note("%d were taken in %.0f ms, then one took %.0f ms", depth - 1, quick_ms, blocked_ms);
  expect(depth > kLeastDepth && depth <= kMostDepth, "between %d and %d were expected", kLeastDepth,
         kMostDepth);
}

static void launches_of_another_stream_are_taken_while_one_is_full(void) {
  void* full = new_stream(kNonBlocking);
  void* other = new_stream(kNonBlocking);
  launch(full, 4 * kLongMs);
  void* first = mark(full);
  for (int i = 0; i < kLeastDepth; i++) launch(full, 0.001);
  launch(other, 0.001);
  EXPECT(cuEventQuery(first), kNotReady);
  MUST(cuStreamSynchronize(other));
  note("the other stream was done while the full one was %s", answer(cu.cuEventQuery(first)));
  MUST(cuCtxSynchronize());
}

enum { kThreads = 2, kLaunches = 100 };

static void launch_many(void* stream) {
  MUST(cuCtxSetCurrent(g_context));
  for (int i = 0; i < kLaunches; i++) launch(stream, 1);
}

static void* launching_thread(void* stream) {
  launch_many(stream);
  return NULL;
}

static void launches_of_two_threads_all_arrive(void) {
  void* stream = new_stream(kNonBlocking);
  pthread_t threads[kThreads];
  const double begun = now_ms();
  for (int i = 0; i < kThreads; i++) {
    must("pthread_create", pthread_create(&threads[i], NULL, launching_thread, stream));
  }
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  MUST(cuStreamSynchronize(stream));
  const double took = now_ms() - begun, wanted = kThreads * kLaunches;
  expect(took > 0.9 * wanted, "%.0f ms of work took %.0f ms", wanted, took);
}

static void launch_with_a_configuration_is_a_launch(void) {
  void* stream = new_stream(kNonBlocking);
  uint64_t ns = (uint64_t)kLongMs * 1000000;
  void* parameters[] = {&ns};
  const struct LaunchConfig config = {{1, 1, 1}, {1, 1, 1}, 0, stream, NULL, 0};
  MUST(cuLaunchKernelEx(&config, g_spin, parameters, NULL));
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuStreamSynchronize(stream));
  EXPECT(cuStreamQuery(stream), kSuccess);
}

static void wrong_launches_are_errors(void) {
  uint64_t ns = 1000;
  void* parameters[] = {&ns};
  void* function = NULL;
  void* module = NULL;
  EXPECT(cuLaunchKernel(g_spin, 0, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL), kInvalidValue);
  const int no_function = cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL);
  expect(no_function != kSuccess, "a launch of nothing is taken");
  note("a launch of nothing returned %d", no_function);
  const int image = cu.cuModuleLoadData(&module, "this is no image");
  expect(image != kSuccess, "text is taken for an image");
  note("text as an image %d", image);
  if (cu.cuModuleLoadData(&module, "") == kSuccess) note("an empty image is taken");
  EXPECT(cuModuleGetFunction(&function, NULL, "spin_ns"), kInvalidHandle);
  EXPECT(cuCtxSynchronize(), kSuccess);
}

struct Seen {
  atomic_int begun, ended;
  double begun_ms, ended_ms;
  pthread_t thread;
};

static void host_function(void* argument) {
  struct Seen* seen = argument;
  seen->begun_ms = now_ms();
  seen->thread = pthread_self();
  atomic_store(&seen->begun, 1);
  sleep_ms(kLongMs);
  seen->ended_ms = now_ms();
  atomic_store(&seen->ended, 1);
}

static void host_callback(void* stream, int status, void* argument) {
  (void)stream;
  (void)status;
  host_function(argument);
}

/// A kernel, the function, and a kernel of the same stream.
static void check_host_work(int (*enqueue)(void* stream, struct Seen* seen)) {
  static struct Seen seen;
  void* stream = new_stream(kNonBlocking);
  const double launched_ms = now_ms();
  launch(stream, kShortMs);
  must("the call", enqueue(stream, &seen));
  void* behind = mark(stream);
  launch(stream, kShortMs);
  void* last = mark(stream);
  expect(!atomic_load(&seen.ended), "it ended before the call returned");
  while (!atomic_load(&seen.begun)) sleep_ms(1);
  const double waited_ms = seen.begun_ms - launched_ms;
  expect(waited_ms > 0.9 * kShortMs, "it began after %.1f of %d ms", waited_ms, kShortMs);
  EXPECT(cuEventQuery(behind), kNotReady);
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuEventSynchronize(last));
  const double done_ms = now_ms();
  expect(atomic_load(&seen.ended), "work behind it is done, and it is not");
  expect(done_ms - seen.ended_ms > 0.9 * kShortMs, "the kernel behind it was done %.1f ms after",
         done_ms - seen.ended_ms);
  expect(!pthread_equal(seen.thread, pthread_self()), "it ran in the thread that asked for it");
}

static int enqueue_function(void* stream, struct Seen* seen) {
  return cu.cuLaunchHostFunc(stream, host_function, seen);
}

static int enqueue_callback(void* stream, struct Seen* seen) {
  return cu.cuStreamAddCallback(stream, host_callback, seen, 0);
}

static void host_function_runs_after_earlier_and_before_later_work(void) {
  check_host_work(enqueue_function);
}

static void callback_runs_after_earlier_and_before_later_work(void) {
  check_host_work(enqueue_callback);
}

static void context_synchronize_covers_host_functions(void) {
  static struct Seen seen;
  MUST(cuLaunchHostFunc(new_stream(kNonBlocking), host_function, &seen));
  MUST(cuCtxSynchronize());
  expect(atomic_load(&seen.ended), "it did not wait for it");
}

const struct Check kQueueChecks[] = {
    RULE(launch_blocks_when_about_a_thousand_are_pending, ""),
    RULE(launches_of_another_stream_are_taken_while_one_is_full, ""),
    RULE(launches_of_two_threads_all_arrive, ""),
    RULE(launch_with_a_configuration_is_a_launch, "cuLaunchKernelEx"),
    RULE(wrong_launches_are_errors, ""),
    RULE(host_function_runs_after_earlier_and_before_later_work, "cuLaunchHostFunc"),
    RULE(callback_runs_after_earlier_and_before_later_work, "cuStreamAddCallback"),
    RULE(context_synchronize_covers_host_functions, "cuLaunchHostFunc"),
    RULES_END};
