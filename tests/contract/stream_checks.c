// SPDX-License-Identifier: Apache-2.0
// Which streams wait for which, and what a synchronise of one proves of others.
#include "contract.h"

static void stream_synchronize_leaves_other_streams_pending_of(unsigned int flags) {
  void* stream = new_stream(flags);
  void* other = new_stream(flags);
  launch(stream, kShortMs);
  launch(other, 2 * kLongMs);
  MUST(cuStreamSynchronize(stream));
  EXPECT(cuStreamQuery(stream), kSuccess);
  EXPECT(cuStreamQuery(other), kNotReady);
}

static void synchronize_of_a_blocking_stream_leaves_others_pending(void) {
  stream_synchronize_leaves_other_streams_pending_of(kBlocking);
}

static void synchronize_of_a_non_blocking_stream_leaves_others_pending(void) {
  stream_synchronize_leaves_other_streams_pending_of(kNonBlocking);
}

static void legacy_stream_waits_for_blocking_streams(void) {
  void* blocking = new_stream(kBlocking);
  launch(blocking, kLongMs);
  void* proof = mark(blocking);
  launch(NULL, 1);
  void* after = mark(NULL);
  EXPECT(cuEventQuery(after), kNotReady);
  MUST(cuEventSynchronize(after));
  EXPECT(cuEventQuery(proof), kSuccess);
}

static void blocking_streams_wait_for_the_legacy_stream(void) {
  void* blocking = new_stream(kBlocking);
  launch(NULL, kLongMs);
  void* proof = mark(NULL);
  launch(blocking, 1);
  MUST(cuStreamSynchronize(blocking));
  EXPECT(cuEventQuery(proof), kSuccess);
}

static void legacy_stream_does_not_wait_for_non_blocking_streams(void) {
  void* apart = new_stream(kNonBlocking);
  launch(apart, 3 * kLongMs);
  launch(NULL, 1);
  MUST(cuStreamSynchronize(NULL));
  EXPECT(cuStreamQuery(apart), kNotReady);
}

static void non_blocking_streams_do_not_wait_for_the_legacy_stream(void) {
  void* apart = new_stream(kNonBlocking);
  launch(NULL, 3 * kLongMs);
  void* legacy = mark(NULL);
  launch(apart, 1);
  MUST(cuStreamSynchronize(apart));
  EXPECT(cuEventQuery(legacy), kNotReady);
}

static void blocking_streams_do_not_wait_for_each_other(void) {
  void* first = new_stream(kBlocking);
  void* second = new_stream(kBlocking);
  launch(first, 3 * kLongMs);
  launch(second, 1);
  MUST(cuStreamSynchronize(second));
  EXPECT(cuStreamQuery(first), kNotReady);
}

static void handle_1_is_the_legacy_stream(void) {
  void* blocking = new_stream(kBlocking);
  launch(LEGACY, kLongMs);
  EXPECT(cuStreamQuery(NULL), kNotReady);
  EXPECT(cuStreamQuery(LEGACY), kNotReady);
  void* proof = mark(NULL);
  launch(blocking, 1);
  MUST(cuStreamSynchronize(blocking));
  EXPECT(cuEventQuery(proof), kSuccess);
  EXPECT(cuStreamSynchronize(LEGACY), kSuccess);
}

/// What is not written down: whether asking the legacy stream, which has no work of its own, tells
/// of the blocking streams'.
static void legacy_stream_without_own_work_beside_a_busy_blocking_one(void) {
  void* blocking = new_stream(kBlocking);
  launch(blocking, kLongMs);
  note("cuStreamQuery says %s", answer(cu.cuStreamQuery(NULL)));
  void* event = mark(NULL);
  note("an event recorded in it is %s", answer(cu.cuEventQuery(event)));
  expect(cu.cuStreamQuery(blocking) == kNotReady, "the blocking stream was done too early");
  MUST(cuStreamSynchronize(NULL));
  note("after cuStreamSynchronize the blocking one is %s", answer(cu.cuStreamQuery(blocking)));
  MUST(cuStreamSynchronize(blocking));
  EXPECT(cuEventQuery(event), kSuccess);
}

static void blocking_stream_behind_an_event_in_the_legacy_stream(void) {
  void* first = new_stream(kBlocking);
  void* second = new_stream(kBlocking);
  launch(first, kLongMs);
  void* proof = mark(first);
  mark(NULL);
  launch(second, 1);
  MUST(cuStreamSynchronize(second));
  note("the earlier blocking stream is %s", answer(cu.cuEventQuery(proof)));
}

static void kernels_of_one_stream_do_not_overlap(void) {
  void* stream = new_stream(kNonBlocking);
  const double begun = now_ms();
  for (int i = 0; i < 4; i++) launch(stream, kShortMs);
  MUST(cuStreamSynchronize(stream));
  const double took = now_ms() - begun;
  expect(took > 0.9 * 4 * kShortMs, "four of %d ms took %.1f ms", kShortMs, took);
}

static void kernels_of_two_streams_may_overlap(void) {
  void* first = new_stream(kNonBlocking);
  void* second = new_stream(kNonBlocking);
  const double begun = now_ms();
  launch(first, kLongMs);
  launch(second, kLongMs);
  MUST(cuCtxSynchronize());
  const double took = now_ms() - begun;
  expect(took > 0.9 * kLongMs, "two of %d ms took %.1f ms", kLongMs, took);
  note("two of %d ms took %.1f ms", kLongMs, took);
}

static void stream_destroyed_with_pending_work_completes_it(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  void* event = mark(stream);
  EXPECT(cuStreamDestroy_v2(stream), kSuccess);
  note("the destroy returned while the work was %s", answer(cu.cuEventQuery(event)));
  const double begun = now_ms();
  MUST(cuEventSynchronize(event));
  note("which took %.1f ms more", now_ms() - begun);
  EXPECT(cuEventQuery(event), kSuccess);
}

static void query_of_a_destroyed_stream(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  MUST(cuStreamDestroy_v2(stream));
  note("it returned %d", call_with_dead_handle(cu.cuStreamQuery, stream));
}

static void context_synchronize_covers_destroyed_streams(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  void* event = mark(stream);
  MUST(cuStreamDestroy_v2(stream));
  MUST(cuCtxSynchronize());
  EXPECT(cuEventQuery(event), kSuccess);
}

static void stream_with_unknown_flags_is_an_error(void) {
  void* stream = NULL;
  EXPECT(cuStreamCreate(&stream, 0x100), kInvalidValue);
  EXPECT(cuStreamCreate(NULL, 0), kInvalidValue);
}

static void stream_with_a_priority_is_a_stream(void) {
  void* stream = NULL;
  MUST(cuStreamCreateWithPriority(&stream, kNonBlocking, 0));
  launch(stream, kLongMs);
  EXPECT(cuStreamQuery(stream), kNotReady);
  EXPECT(cuStreamSynchronize(stream), kSuccess);
}

const struct Check kStreamChecks[] = {
    RULE(synchronize_of_a_blocking_stream_leaves_others_pending, ""),
    RULE(synchronize_of_a_non_blocking_stream_leaves_others_pending, ""),
    RULE(legacy_stream_waits_for_blocking_streams, ""),
    RULE(blocking_streams_wait_for_the_legacy_stream, ""),
    RULE(legacy_stream_does_not_wait_for_non_blocking_streams, ""),
    RULE(non_blocking_streams_do_not_wait_for_the_legacy_stream, ""),
    RULE(blocking_streams_do_not_wait_for_each_other, ""),
    RULE(handle_1_is_the_legacy_stream, ""),
    RULE(legacy_stream_without_own_work_beside_a_busy_blocking_one, ""),
    RULE(blocking_stream_behind_an_event_in_the_legacy_stream, ""),
    RULE(kernels_of_one_stream_do_not_overlap, ""),
    RULE(kernels_of_two_streams_may_overlap, ""),
    RULE(stream_destroyed_with_pending_work_completes_it, ""),
    RULE(query_of_a_destroyed_stream, ""),
    RULE(context_synchronize_covers_destroyed_streams, ""),
    RULE(stream_with_unknown_flags_is_an_error, ""),
    RULE(stream_with_a_priority_is_a_stream, "cuStreamCreateWithPriority"),
    RULES_END};
