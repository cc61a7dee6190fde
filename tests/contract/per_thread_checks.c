// SPDX-License-Identifier: Apache-2.0
// The per-thread default stream. A driver has it if it has the twins of the functions.
#include "contract.h"

static void launch_ptsz(void* stream, double ms) {
  uint64_t ns = (uint64_t)(ms * 1e6);
  void* parameters[] = {&ns};
  MUST(cuLaunchKernel_ptsz(g_spin, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static void twin_with_stream_0_means_the_stream_of_the_thread(void) {
  launch_ptsz(NULL, kLongMs);
  EXPECT(cuStreamQuery(PER_THREAD), kNotReady);
  EXPECT(cuStreamQuery_ptsz(NULL), kNotReady);
  EXPECT(cuStreamQuery_ptsz(PER_THREAD), kNotReady);
  MUST(cuStreamSynchronize_ptsz(NULL));
  EXPECT(cuStreamQuery(PER_THREAD), kSuccess);
}

static void handle_2_means_the_stream_of_the_thread(void) {
  launch(PER_THREAD, kLongMs);
  EXPECT(cuStreamQuery(PER_THREAD), kNotReady);
  EXPECT(cuStreamQuery_ptsz(NULL), kNotReady);
  MUST(cuStreamSynchronize(PER_THREAD));
  EXPECT(cuStreamQuery_ptsz(NULL), kSuccess);
}

static void in_another_thread(void* unused) {
  (void)unused;
  MUST(cuCtxSetCurrent(g_context));
  EXPECT(cuStreamQuery(PER_THREAD), kSuccess);
  launch(PER_THREAD, 1);
  MUST(cuStreamSynchronize(PER_THREAD));
}

static void each_thread_has_one_of_its_own(void) {
  launch(PER_THREAD, 3 * kLongMs);
  in_thread(in_another_thread, NULL);
  EXPECT(cuStreamQuery(PER_THREAD), kNotReady);
  EXPECT(cuStreamSynchronize(PER_THREAD), kSuccess);
}

static void twin_with_stream_1_means_the_legacy_stream(void) {
  launch_ptsz(LEGACY, kLongMs);
  EXPECT(cuStreamQuery(NULL), kNotReady);
  EXPECT(cuStreamQuery(LEGACY), kNotReady);
  MUST(cuStreamSynchronize_ptsz(LEGACY));
  EXPECT(cuStreamQuery(NULL), kSuccess);
}

static void stream_of_the_thread_waits_for_the_legacy_stream(void) {
  launch(LEGACY, kLongMs);
  void* proof = mark(LEGACY);
  launch(PER_THREAD, 1);
  MUST(cuStreamSynchronize(PER_THREAD));
  EXPECT(cuEventQuery(proof), kSuccess);
}

static void legacy_stream_waits_for_the_stream_of_the_thread(void) {
  launch(PER_THREAD, kLongMs);
  void* proof = mark(PER_THREAD);
  launch(LEGACY, 1);
  MUST(cuStreamSynchronize(LEGACY));
  EXPECT(cuEventQuery(proof), kSuccess);
}

static void event_recorded_by_a_twin_is_of_the_stream_of_the_thread(void) {
  void* event = new_event();
  launch(PER_THREAD, kLongMs);
  MUST(cuEventRecord_ptsz(event, NULL));
  EXPECT(cuEventQuery(event), kNotReady);
  MUST(cuEventSynchronize(event));
  EXPECT(cuStreamQuery(PER_THREAD), kSuccess);
}

static void context_synchronize_covers_the_stream_of_the_thread(void) {
  launch(PER_THREAD, kLongMs);
  MUST(cuCtxSynchronize());
  EXPECT(cuStreamQuery(PER_THREAD), kSuccess);
}

static void launch_in_own_stream(void* event) {
  MUST(cuCtxSetCurrent(g_context));
  launch(PER_THREAD, kLongMs);
  MUST(cuEventRecord(event, PER_THREAD));
}

static void work_of_a_thread_that_ended_completes(void) {
  void* event = new_event();
  in_thread(launch_in_own_stream, event);
  note("when the thread has ended the work is %s", answer(cu.cuEventQuery(event)));
  MUST(cuCtxSynchronize());
  EXPECT(cuEventQuery(event), kSuccess);
}

#define TWINS "cuLaunchKernel_ptsz cuStreamQuery_ptsz cuStreamSynchronize_ptsz"

const struct Check kPerThreadChecks[] = {
    RULE(twin_with_stream_0_means_the_stream_of_the_thread, TWINS),
    RULE(handle_2_means_the_stream_of_the_thread, TWINS),
    RULE(each_thread_has_one_of_its_own, TWINS),
    RULE(twin_with_stream_1_means_the_legacy_stream, TWINS),
    RULE(stream_of_the_thread_waits_for_the_legacy_stream, TWINS),
    RULE(legacy_stream_waits_for_the_stream_of_the_thread, TWINS),
    RULE(event_recorded_by_a_twin_is_of_the_stream_of_the_thread, TWINS " cuEventRecord_ptsz"),
    RULE(context_synchronize_covers_the_stream_of_the_thread, TWINS),
    RULE(work_of_a_thread_that_ended_completes, TWINS),
    RULES_END};
