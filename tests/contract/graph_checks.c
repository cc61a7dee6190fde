// SPDX-License-Identifier: Apache-2.0
// Graphs, captured from a stream.
#include "contract.h"

enum { kThreadLocal = 1 };

static void begin_capture(void* stream) {
  MUST(cuStreamBeginCapture_v2(stream, kThreadLocal));
}

static void* end_capture(void* stream) {
  void* graph = NULL;
  MUST(cuStreamEndCapture(stream, &graph));
  return graph;
}

static void* instantiate(void* graph) {
  void* exec = NULL;
  MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
  MUST(cuGraphDestroy(graph));
  return exec;
}

/// Two kernels, one after the other.
static void* two_in_a_row(double ms) {
  void* stream = new_stream(kNonBlocking);
  begin_capture(stream);
  launch(stream, ms);
  launch(stream, ms);
  return instantiate(end_capture(stream));
}

/// Two kernels beside each other, in streams that are split and joined by events.
static void* two_beside(double first_ms, double second_ms) {
  void* stream = new_stream(kNonBlocking);
  void* branch = new_stream(kNonBlocking);
  begin_capture(stream);
  void* split = mark(stream);
  MUST(cuStreamWaitEvent(branch, split, 0));
  launch(stream, first_ms);
  launch(branch, second_ms);
  void* joined = mark(branch);
  MUST(cuStreamWaitEvent(stream, joined, 0));
  return instantiate(end_capture(stream));
}

static void capture_submits_nothing(void) {
  const double begun = now_ms();
  two_in_a_row(10 * kLongMs);
  MUST(cuCtxSynchronize());
  const double took = now_ms() - begun;
  expect(took < 10 * kLongMs, "capture and synchronise took %.0f ms", took);
}

static void event_after_a_graph_covers_all_of_it(void) {
  void* exec = two_in_a_row(kLongMs);
  void* stream = new_stream(kNonBlocking);
  const double begun = now_ms();
  MUST(cuGraphLaunch(exec, stream));
  void* event = mark(stream);
  EXPECT(cuEventQuery(event), kNotReady);
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuEventSynchronize(event));
  const double took = now_ms() - begun;
  expect(took > 0.9 * 2 * kLongMs, "two of %d ms took %.0f ms", kLongMs, took);
  EXPECT(cuStreamQuery(stream), kSuccess);
}

static void event_after_a_graph_covers_its_branches(void) {
  void* exec = two_beside(1, kLongMs);
  void* stream = new_stream(kNonBlocking);
  const double begun = now_ms();
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuEventSynchronize(mark(stream)));
  const double took = now_ms() - begun;
  expect(took > 0.9 * kLongMs, "a branch of %d ms took %.0f ms", kLongMs, took);
}

static void graph_waits_for_earlier_and_holds_later_work_of_its_stream(void) {
  void* exec = two_in_a_row(kShortMs);
  void* stream = new_stream(kNonBlocking);
  const double begun = now_ms();
  launch(stream, kLongMs);
  MUST(cuGraphLaunch(exec, stream));
  launch(stream, kLongMs);
  MUST(cuStreamSynchronize(stream));
  const double took = now_ms() - begun, wanted = 2 * kLongMs + 2 * kShortMs;
  expect(took > 0.9 * wanted, "%.0f ms of work took %.0f ms", wanted, took);
}

static void graph_launched_twice_runs_twice_in_a_row(void) {
  void* exec = two_in_a_row(kShortMs);
  void* stream = new_stream(kNonBlocking);
  const double begun = now_ms();
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuGraphLaunch(exec, stream));
  MUST(cuStreamSynchronize(stream));
  const double took = now_ms() - begun;
  expect(took > 0.9 * 4 * kShortMs, "four of %d ms took %.0f ms", kShortMs, took);
}

static void graph_launched_in_two_streams_runs_twice_in_a_row(void) {
  void* exec = two_in_a_row(kLongMs);
  const double begun = now_ms();
  MUST(cuGraphLaunch(exec, new_stream(kNonBlocking)));
  MUST(cuGraphLaunch(exec, new_stream(kNonBlocking)));
  MUST(cuCtxSynchronize());
  const double took = now_ms() - begun;
  expect(took > 0.9 * 4 * kLongMs, "four of %d ms took %.0f ms", kLongMs, took);
}

static void graph_leaves_the_captured_stream_idle(void) {
  void* captured = new_stream(kNonBlocking);
  void* stream = new_stream(kNonBlocking);
  begin_capture(captured);
  launch(captured, kLongMs);
  void* exec = instantiate(end_capture(captured));
  MUST(cuGraphLaunch(exec, stream));
  EXPECT(cuStreamQuery(captured), kSuccess);
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuStreamSynchronize(stream));
}

static void context_synchronize_covers_graphs(void) {
  void* exec = two_in_a_row(kShortMs);
  void* stream = new_stream(kNonBlocking);
  MUST(cuGraphLaunch(exec, stream));
  void* event = mark(stream);
  MUST(cuCtxSynchronize());
  EXPECT(cuEventQuery(event), kSuccess);
}

static void destroy_of_a_launched_graph_does_not_lose_it(void) {
  void* exec = two_in_a_row(kShortMs);
  void* stream = new_stream(kNonBlocking);
  const double begun = now_ms();
  MUST(cuGraphLaunch(exec, stream));
  EXPECT(cuGraphExecDestroy(exec), kSuccess);
  MUST(cuStreamSynchronize(stream));
  const double took = now_ms() - begun;
  expect(took > 0.9 * 2 * kShortMs, "two of %d ms took %.0f ms", kShortMs, took);
}

static void query_of_a_captured_event_is_an_error(void) {
  void* stream = new_stream(kNonBlocking);
  begin_capture(stream);
  launch(stream, 1);
  void* event = mark(stream);
  const int result = cu.cuEventQuery(event);
  expect(result != kSuccess && result != kNotReady, "it returned %d", result);
  note("it returned %d", result);
  void* graph = NULL;
  note("and the end of the capture %d", cu.cuStreamEndCapture(stream, &graph));
  note("and after it %d", cu.cuEventQuery(event));
}

static void query_of_a_stream_that_is_captured_is_an_error(void) {
  void* stream = new_stream(kNonBlocking);
  begin_capture(stream);
  launch(stream, 1);
  const int result = cu.cuStreamQuery(stream);
  expect(result != kSuccess && result != kNotReady, "it returned %d", result);
  note("it returned %d", result);
  void* graph = NULL;
  note("and the end of the capture %d", cu.cuStreamEndCapture(stream, &graph));
}

static void synchronize_of_a_stream_that_is_captured_is_an_error(void) {
  void* stream = new_stream(kNonBlocking);
  begin_capture(stream);
  launch(stream, 1);
  const int result = cu.cuStreamSynchronize(stream);
  expect(result != kSuccess, "it returned %d", result);
  note("it returned %d", result);
}

static void legacy_stream_beside_a_capture_of_a_blocking_stream(void) {
  void* stream = new_stream(kBlocking);
  begin_capture(stream);
  launch(stream, 1);
  uint64_t ns = 1000;
  void* parameters[] = {&ns};
  note("a launch in it returned %d",
       cu.cuLaunchKernel(g_spin, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
  void* graph = NULL;
  note("and the end of the capture %d", cu.cuStreamEndCapture(stream, &graph));
}

static void legacy_stream_cannot_be_captured(void) {
  const int result = cu.cuStreamBeginCapture_v2(NULL, kThreadLocal);
  expect(result != kSuccess, "it can");
  note("it returned %d", result);
}

static void capture_is_told_while_it_lasts(void) {
  void* stream = new_stream(kNonBlocking);
  int status = -1;
  MUST(cuStreamIsCapturing(stream, &status));
  expect(status == 0, "before: %d", status);
  begin_capture(stream);
  launch(stream, 1);
  MUST(cuStreamIsCapturing(stream, &status));
  expect(status == 1, "within: %d", status);
  end_capture(stream);
  MUST(cuStreamIsCapturing(stream, &status));
  expect(status == 0, "after: %d", status);
}

#define GRAPHS                                                                            \
  "cuStreamBeginCapture_v2 cuStreamEndCapture cuGraphInstantiateWithFlags cuGraphLaunch " \
  "cuGraphDestroy"

const struct Check kGraphChecks[] = {
    RULE(capture_submits_nothing, GRAPHS),
    RULE(event_after_a_graph_covers_all_of_it, GRAPHS),
    RULE(event_after_a_graph_covers_its_branches, GRAPHS),
    RULE(graph_waits_for_earlier_and_holds_later_work_of_its_stream, GRAPHS),
    RULE(graph_launched_twice_runs_twice_in_a_row, GRAPHS),
    RULE(graph_launched_in_two_streams_runs_twice_in_a_row, GRAPHS),
    RULE(graph_leaves_the_captured_stream_idle, GRAPHS),
    RULE(context_synchronize_covers_graphs, GRAPHS),
    RULE(destroy_of_a_launched_graph_does_not_lose_it, GRAPHS " cuGraphExecDestroy"),
    RULE(query_of_a_captured_event_is_an_error, GRAPHS),
    RULE(query_of_a_stream_that_is_captured_is_an_error, GRAPHS),
    RULE(synchronize_of_a_stream_that_is_captured_is_an_error, GRAPHS),
    RULE(legacy_stream_beside_a_capture_of_a_blocking_stream, GRAPHS),
    RULE(legacy_stream_cannot_be_captured, GRAPHS),
    RULE(capture_is_told_while_it_lasts, GRAPHS " cuStreamIsCapturing"),
    RULES_END};
