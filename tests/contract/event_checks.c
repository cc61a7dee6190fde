// SPDX-License-Identifier: Apache-2.0
// Queries and events.
#include "contract.h"

static void stream_query_is_600_while_work_is_pending_and_0_after(void) {
  void* stream = new_stream(kNonBlocking);
  EXPECT(cuStreamQuery(stream), kSuccess);
  launch(stream, kLongMs);
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuStreamSynchronize(stream));
  EXPECT(cuStreamQuery(stream), kSuccess);
}

static void event_query_is_600_while_work_is_pending_and_0_after(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  void* event = mark(stream);
  EXPECT(cuEventQuery(event), kNotReady);
  MUST(cuEventSynchronize(event));
  EXPECT(cuEventQuery(event), kSuccess);
  EXPECT(cuStreamQuery(stream), kSuccess);
}

static void kernel_lasts_as_long_as_it_was_told(void) {
  void* stream = new_stream(kNonBlocking);
  const double begun = now_ms();
  launch(stream, kLongMs);
  MUST(cuStreamSynchronize(stream));
  const double took = now_ms() - begun;
  expect(took > kLongMs * 0.9, "%.1f of %d ms", took, kLongMs);
  note("%.1f of %d ms", took, kLongMs);
}

static void event_never_recorded_is_done(void) {
  void* event = new_event();
  EXPECT(cuEventQuery(event), kSuccess);
  EXPECT(cuEventSynchronize(event), kSuccess);
}

static void event_never_recorded_holds_no_stream(void) {
  void* stream = new_stream(kNonBlocking);
  MUST(cuStreamWaitEvent(stream, new_event(), 0));
  EXPECT(cuStreamSynchronize(stream), kSuccess);
}

static void event_recorded_again_means_the_later_record(void) {
  void* busy = new_stream(kNonBlocking);
  void* idle = new_stream(kNonBlocking);
  launch(busy, kLongMs);
  void* event = mark(busy);
  void* first = mark(busy);
  MUST(cuEventRecord(event, idle));
  EXPECT(cuEventSynchronize(event), kSuccess);
  EXPECT(cuEventQuery(first), kNotReady);
  MUST(cuEventRecord(event, busy));
  EXPECT(cuEventQuery(event), kNotReady);
  MUST(cuEventSynchronize(event));
  EXPECT(cuEventQuery(first), kSuccess);
}

static void event_record_with_flags_is_a_record(void) {
  void* stream = new_stream(kNonBlocking);
  void* event = new_event();
  launch(stream, kLongMs);
  MUST(cuEventRecordWithFlags(event, stream, 0));
  EXPECT(cuEventQuery(event), kNotReady);
  MUST(cuEventSynchronize(event));
  EXPECT(cuStreamQuery(stream), kSuccess);
}

static void event_proves_the_work_before_it_only(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kShortMs);
  void* event = mark(stream);
  launch(stream, kLongMs);
  MUST(cuEventSynchronize(event));
  EXPECT(cuEventQuery(event), kSuccess);
  EXPECT(cuStreamQuery(stream), kNotReady);
}

static void event_proves_its_own_stream_only(void) {
  void* recorded = new_stream(kNonBlocking);
  void* other = new_stream(kNonBlocking);
  launch(recorded, kShortMs);
  void* event = mark(recorded);
  launch(other, 2 * kLongMs);
  MUST(cuEventSynchronize(event));
  EXPECT(cuStreamQuery(recorded), kSuccess);
  EXPECT(cuStreamQuery(other), kNotReady);
}

static void wait_for_an_event_means_the_record_before_the_call(void) {
  void* first = new_stream(kNonBlocking);
  void* later = new_stream(kNonBlocking);
  void* waiting = new_stream(kNonBlocking);
  launch(first, kShortMs);
  void* event = mark(first);
  MUST(cuStreamWaitEvent(waiting, event, 0));
  launch(later, 3 * kLongMs);
  MUST(cuEventRecord(event, later));
  EXPECT(cuStreamSynchronize(waiting), kSuccess);
  EXPECT(cuStreamQuery(first), kSuccess);
  EXPECT(cuEventQuery(event), kNotReady);
}

static void wait_for_an_event_is_kept_when_it_is_recorded_again(void) {
  void* busy = new_stream(kNonBlocking);
  void* idle = new_stream(kNonBlocking);
  void* waiting = new_stream(kNonBlocking);
  launch(busy, kLongMs);
  void* event = mark(busy);
  void* proof = mark(busy);
  MUST(cuStreamWaitEvent(waiting, event, 0));
  MUST(cuEventRecord(event, idle));
  EXPECT(cuStreamQuery(waiting), kNotReady);
  MUST(cuStreamSynchronize(waiting));
  EXPECT(cuEventQuery(proof), kSuccess);
}

static void wait_for_an_event_is_kept_when_it_is_destroyed(void) {
  void* busy = new_stream(kNonBlocking);
  void* waiting = new_stream(kNonBlocking);
  launch(busy, kLongMs);
  void* event = mark(busy);
  void* proof = mark(busy);
  MUST(cuStreamWaitEvent(waiting, event, 0));
  EXPECT(cuEventDestroy_v2(event), kSuccess);
  EXPECT(cuStreamQuery(waiting), kNotReady);
  MUST(cuStreamSynchronize(waiting));
  EXPECT(cuEventQuery(proof), kSuccess);
}

static void event_destroyed_while_pending_returns_at_once(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  void* event = mark(stream);
  EXPECT(cuEventDestroy_v2(event), kSuccess);
  EXPECT(cuStreamQuery(stream), kNotReady);
  EXPECT(cuStreamSynchronize(stream), kSuccess);
}

static void query_of_a_destroyed_event(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  void* event = mark(stream);
  MUST(cuEventDestroy_v2(event));
  note("it returned %d", call_with_dead_handle(cu.cuEventQuery, event));
}

static void elapsed_time_is_the_devices(void) {
  void* stream = new_stream(kNonBlocking);
  void* begin = mark(stream);
  launch(stream, kLongMs);
  void* end = mark(stream);
  float ms = 0;
  EXPECT(cuEventElapsedTime(&ms, begin, end), kNotReady);
  MUST(cuEventSynchronize(end));
  MUST(cuEventElapsedTime(&ms, begin, end));
  expect(ms > 0.9 * kLongMs && ms < 2 * kLongMs, "%.1f of %d ms", (double)ms, kLongMs);
  note("%.1f of %d ms", (double)ms, kLongMs);
}

static void elapsed_time_between_two_pending_events_of_one_stream_adds_up(void) {
  void* stream = new_stream(kNonBlocking);
  void* begin = mark(stream);
  launch(stream, kShortMs);
  launch(stream, kShortMs);
  launch(stream, kShortMs);
  void* end = mark(stream);
  float ms = 0;
  MUST(cuEventSynchronize(end));
  MUST(cuEventElapsedTime(&ms, begin, end));
  expect(ms > 0.9 * 3 * kShortMs, "three of %d ms took %.1f ms", kShortMs, (double)ms);
}

static void event_without_a_handle_is_an_error(void) {
  EXPECT(cuEventQuery(NULL), kInvalidHandle);
  EXPECT(cuEventSynchronize(NULL), kInvalidHandle);
  EXPECT(cuEventRecord(NULL, NULL), kInvalidHandle);
  EXPECT(cuStreamWaitEvent(new_stream(kNonBlocking), NULL, 0), kInvalidHandle);
  EXPECT(cuEventDestroy_v2(NULL), kInvalidHandle);
}

const struct Check kEventChecks[] = {
    RULE(stream_query_is_600_while_work_is_pending_and_0_after, ""),
    RULE(event_query_is_600_while_work_is_pending_and_0_after, ""),
    RULE(kernel_lasts_as_long_as_it_was_told, ""),
    RULE(event_never_recorded_is_done, ""),
    RULE(event_never_recorded_holds_no_stream, ""),
    RULE(event_recorded_again_means_the_later_record, ""),
    RULE(event_record_with_flags_is_a_record, "cuEventRecordWithFlags"),
    RULE(event_proves_the_work_before_it_only, ""),
    RULE(event_proves_its_own_stream_only, ""),
    RULE(wait_for_an_event_means_the_record_before_the_call, ""),
    RULE(wait_for_an_event_is_kept_when_it_is_recorded_again, ""),
    RULE(wait_for_an_event_is_kept_when_it_is_destroyed, ""),
    RULE(event_destroyed_while_pending_returns_at_once, ""),
    RULE(query_of_a_destroyed_event, ""),
    RULE(elapsed_time_is_the_devices, "cuEventElapsedTime"),
    RULE(elapsed_time_between_two_pending_events_of_one_stream_adds_up, "cuEventElapsedTime"),
    RULE(event_without_a_handle_is_an_error, ""),
    RULES_END};
