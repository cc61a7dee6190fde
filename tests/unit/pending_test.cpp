// SPDX-License-Identifier: Apache-2.0
#include "evidence/pending.h"

#include <gtest/gtest.h>

#include "evidence/evidence.h"
#include "support/recording_builder.h"

namespace whystall::evidence {
namespace {

using testing::operator""_ms;
using testing::operator""_us;
using testing::RecordingBuilder;

constexpr model::Tid kThread = 100;

/// A recording whose last driver call is the one that waits.
Waited waited(const RecordingBuilder& builder, std::uint64_t stolen_ns = 0, bool stealing = false) {
  model::Recording recording = builder.build();
  recording.api.back().stolen_ns = stolen_ns;
  const timeline::Timeline timeline(recording);
  return how_it_waited(recording.api.back(), {recording, timeline}, stealing);
}

RecordingBuilder with_thread() {
  RecordingBuilder b;
  b.task(kThread, kThread, "loop");
  return b;
}

TEST(Pending, AThreadThatSpunSawTheEndAtOnce) {
  auto b = with_thread();
  b.running(kThread, 1_ms, 90_ms);
  b.sync_stream(10_ms, 30_ms, kThread);
  EXPECT_EQ(waited(b).pending_until, 30_ms - kReturnNs);
}

TEST(Pending, AWayOutThatIsSlowAfterALateSwitchInIsNoLook) {
  auto b = with_thread();
  b.runnable(kThread, 1_ms, 25_ms, 30_ms);
  b.running(kThread, 30_ms, 90_ms);
  b.sync_stream(10_ms, 30_ms + 75_us, kThread);
  const Waited found = waited(b);
  EXPECT_EQ(found.pending_until, 25_ms - (kReturnNs - 75_us));
  EXPECT_EQ(found.late.lo, 25_ms);
  EXPECT_EQ(found.late.hi, 30_ms + 75_us);
}

TEST(Pending, ASleeperWasNotDoneUntilShortlyBeforeTheInterrupt) {
  auto b = with_thread();
  b.blocked(kThread, 1_ms, 11_ms, 25_ms, 30_ms)
      .in_call(testing::kPollCall)
      .woken_by(0, 0, WST_CTX_HARDIRQ);
  b.running(kThread, 30_ms, 90_ms);
  b.sync_stream(10_ms, 30_ms + 40_us, kThread);
  EXPECT_EQ(waited(b).pending_until, 25_ms - kReturnNs);
}

TEST(Pending, StolenTimeCountsAsTimeInWhichItDidNotLook) {
  auto b = with_thread();
  b.running(kThread, 1_ms, 90_ms);
  b.sync_stream(10_ms, 30_ms, kThread);
  EXPECT_EQ(waited(b, 3'000'000, true).pending_until, 30_ms - 3_ms - kReturnNs - kUncountedNs);
}

TEST(Pending, WhereTheCpuChangedAndStolenTimeIsNotToldSpinningTellsNothing) {
  auto b = with_thread();
  b.running(kThread, 1_ms, 90_ms);
  b.sync_stream(10_ms, 30_ms, kThread);
  EXPECT_EQ(waited(b, ~0ULL, true).pending_until, 0);
  EXPECT_EQ(waited(b, ~0ULL, false).pending_until, 0);
}

TEST(Pending, WhatIsAskedAfterTheCallsWereGivenUpMayBeAboutUnseenWork) {
  auto b = with_thread();
  b.running(kThread, 1_ms, 90_ms);
  b.submit(10_ms, kThread).sync_stream(40_ms, 60_ms, kThread);
  model::Recording recording = b.build();
  recording.meta.api_until_ns = 30_ms;
  const timeline::Timeline timeline(recording);
  const Evidence found = find_evidence(recording, {recording, timeline});
  for (const Stretch& s : found.contexts.at(0).stretches) EXPECT_EQ(s.state, State::kNotKnown);
}

}  // namespace
}  // namespace whystall::evidence
