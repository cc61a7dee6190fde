// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <gtest/gtest.h>

#include <ostream>
#include <random>

#include "support/recording_builder.h"

namespace whystall::timeline {
namespace {

using testing::operator""_us;
using testing::operator""_ms;
using model::TimeNs;
using testing::RecordingBuilder;

constexpr model::Tid kThread = 100;
constexpr std::uint64_t kWord = 0x7000;

struct Shown {
  TimeNs lo, hi;
  State state;
  bool merged = false;
  bool operator==(const Shown&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Shown& s) {
  constexpr const char* kNames[] = {"running", "runnable", "blocked"};
  return out << kNames[static_cast<int>(s.state)] << " " << s.lo << ".." << s.hi
             << (s.merged ? " merged" : "");
}

std::vector<Shown> pieces_of(const RecordingBuilder& builder, model::Tid tid = kThread) {
  const auto recording = builder.build();
  const Timeline timeline(recording);
  std::vector<Shown> shown;
  for (const Piece& p : timeline.thread(tid))
    shown.push_back({p.at.lo, p.at.hi, p.state, p.merged});
  return shown;
}
using Pieces = std::vector<Shown>;

constexpr State kRunning = State::kRunning, kRunnable = State::kRunnable,
                kBlocked = State::kBlocked;

TEST(Timeline, ABlockedStayIsARunAWaitAndAWaitForTheCpu) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 7_ms, 9_ms).woken_by(1, 1);
  EXPECT_EQ(pieces_of(b),
            (Pieces{{1_ms, 2_ms, kRunning}, {2_ms, 7_ms, kBlocked}, {7_ms, 9_ms, kRunnable}}));
}

TEST(Timeline, APreemptedStayIsARunAndAWaitForTheCpu) {
  RecordingBuilder b;
  b.runnable(kThread, 1_ms, 2_ms, 9_ms);
  EXPECT_EQ(pieces_of(b), (Pieces{{1_ms, 2_ms, kRunning}, {2_ms, 9_ms, kRunnable}}));
}

TEST(Timeline, WithoutAWakeUpTheWholeStayIsBlocked) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 9_ms);
  EXPECT_EQ(pieces_of(b), (Pieces{{1_ms, 2_ms, kRunning}, {2_ms, 9_ms, kBlocked}}));
}

TEST(Timeline, AnUnknownRunLeavesTheTimeBeforeUncovered) {
  RecordingBuilder b;
  b.blocked(kThread, 0, 2_ms, 9_ms);
  EXPECT_EQ(pieces_of(b), (Pieces{{2_ms, 9_ms, kBlocked}}));
}

TEST(Timeline, AWakingBeforeTheSwitchOutLeavesNothingBlocked) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 5_ms, 4_ms, 9_ms).woken_by(1, 1);
  EXPECT_EQ(pieces_of(b), (Pieces{{1_ms, 5_ms, kRunning}, {5_ms, 9_ms, kRunnable}}));
}

TEST(Timeline, AWakingAfterTheSwitchInEndsThere) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 50_ms, 9_ms).woken_by(1, 1);
  EXPECT_EQ(pieces_of(b), (Pieces{{1_ms, 2_ms, kRunning}, {2_ms, 9_ms, kBlocked}}));
}

TEST(Timeline, AThreadThatWasBornWaitsForItsFirstRun) {
  RecordingBuilder b;
  b.runnable(kThread, 0, 2_ms, 5_ms).flag(WST_WAIT_BORN | WST_WAIT_WOKEN);
  b.raw().waits.back().wake_ns = 3'000'000;
  EXPECT_EQ(pieces_of(b), (Pieces{{2_ms, 3_ms, kBlocked}, {3_ms, 5_ms, kRunnable}}));
}

TEST(Timeline, AnOpenWaitLastsUntilTheDump) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 60_ms).flag(WST_WAIT_OPEN);
  EXPECT_EQ(pieces_of(b), (Pieces{{1_ms, 2_ms, kRunning}, {2_ms, 60_ms, kBlocked}}));
}

TEST(Timeline, ARunThatWasNotOverIsOnlyARun) {
  RecordingBuilder b;
  b.running(kThread, 1_ms, 60_ms);
  EXPECT_EQ(pieces_of(b), (Pieces{{1_ms, 60_ms, kRunning}}));
}

TEST(Timeline, AnOpenWaitThatEndedLaterCountsOnce) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 30_ms).flag(WST_WAIT_OPEN);
  b.blocked(kThread, 1_ms, 2_ms, 60_ms).flag(WST_WAIT_OPEN);
  b.blocked(kThread, 1_ms, 2_ms, 70_ms, 80_ms).woken_by(1, 1);
  EXPECT_EQ(pieces_of(b),
            (Pieces{{1_ms, 2_ms, kRunning}, {2_ms, 70_ms, kBlocked}, {70_ms, 80_ms, kRunnable}}));
}

TEST(Timeline, ARunDumpedWhileItWentOnCountsOnce) {
  RecordingBuilder b;
  b.running(kThread, 1_ms, 20_ms);
  b.blocked(kThread, 1_ms, 30_ms, 40_ms).woken_by(1, 1);
  EXPECT_EQ(pieces_of(b),
            (Pieces{{1_ms, 20_ms, kRunning}, {20_ms, 30_ms, kRunning}, {30_ms, 40_ms, kBlocked}}));
}

TEST(Timeline, OverlappingStaysAreClippedToTheEarlierOne) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 10_ms);
  b.blocked(kThread, 5_ms, 8_ms, 20_ms);
  EXPECT_EQ(pieces_of(b),
            (Pieces{{1_ms, 2_ms, kRunning}, {2_ms, 10_ms, kBlocked}, {10_ms, 20_ms, kBlocked}}));
}

TEST(Timeline, PiecesAreSortedAndApartWhateverTheRecordsSay) {
  std::mt19937_64 random(99);
  for (int round = 0; round < 500; round++) {
    RecordingBuilder b;
    for (int i = 0; i < 12; i++) {
      auto any = [&] { return static_cast<TimeNs>(random() % 40); };
      b.blocked(kThread, any(), any(), any(), any())
          .flag(static_cast<std::uint32_t>(random() & 0xfff));
    }
    const Pieces pieces = pieces_of(b);
    for (std::size_t i = 0; i < pieces.size(); i++) {
      EXPECT_LT(pieces[i].lo, pieces[i].hi);
      if (i > 0) {
        EXPECT_LE(pieces[i - 1].hi, pieces[i].lo);
      }
    }
  }
}

TEST(Timeline, KeepsThreadsApart) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 9_ms);
  b.runnable(200, 3_ms, 4_ms, 5_ms);
  EXPECT_EQ(pieces_of(b, 200), (Pieces{{3_ms, 4_ms, kRunning}, {4_ms, 5_ms, kRunnable}}));
  EXPECT_EQ(pieces_of(b, 300), Pieces{});
}

TEST(TimelineMerge, TimedRewaitsOnOneWordAreOneWaitThatEndsWithTheLastWakeUp) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 7_ms, 8_ms).for_word(kWord).woken_in(WST_CTX_TIMER);
  b.blocked(kThread, 8_ms, 8_ms + 50_us, 13_ms, 14_ms).for_word(kWord).woken_in(WST_CTX_TIMER);
  b.blocked(kThread, 14_ms, 14_ms + 50_us, 17_ms, 18_ms).for_word(kWord).woken_by(42, 1);
  EXPECT_EQ(pieces_of(b), (Pieces{{1_ms, 2_ms, kRunning},
                                  {2_ms, 7_ms, kBlocked, true},
                                  {7_ms, 8_ms, kRunnable},
                                  {8_ms, 13_ms, kBlocked, true},
                                  {13_ms, 14_ms, kRunnable},
                                  {14_ms, 14_ms + 50_us, kBlocked, true},
                                  {14_ms + 50_us, 17_ms, kBlocked},
                                  {17_ms, 18_ms, kRunnable}}))
      << "time waiting for a CPU stays what it is";
  const auto recording = b.build();
  const Timeline timeline(recording);
  const Piece* merged = timeline.before(kThread, 5_ms);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->wait->waker_tid, 42u);
}

// Two items of a queue from two workers: the first wait was for the first worker.
TEST(TimelineMerge, WakesByDifferentTasksStayApart) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 7_ms, 7_ms).for_word(kWord).woken_by(41, 1);
  b.blocked(kThread, 7_ms, 7_ms + 50_us, 9_ms, 9_ms).for_word(kWord).woken_by(42, 1);
  for (const auto& piece : pieces_of(b)) EXPECT_FALSE(piece.merged);
}

// Lost the race for a lock: woken, the word is taken again. Whoever got work done in between waited
// anew.
TEST(TimelineMerge, AgainByTheSameTaskIsOneWaitOnlyIfNothingWasDoneInBetween) {
  for (const auto& [ran, merged] : {std::pair(5_us, true), std::pair(20_us, false)}) {
    RecordingBuilder b;
    b.blocked(kThread, 1_ms, 2_ms, 7_ms, 7_ms).for_word(kWord).woken_by(41, 1);
    b.blocked(kThread, 7_ms, 7_ms + ran, 9_ms, 9_ms).for_word(kWord).woken_by(41, 1);
    EXPECT_EQ(pieces_of(b)[1].merged, merged) << ran;
    EXPECT_FALSE(pieces_of(b).back().merged) << "the last one is what its own record says";
  }
}

TEST(TimelineMerge, WaitsOnDifferentWordsStayApart) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 7_ms).for_word(kWord);
  b.blocked(kThread, 7_ms, 7_ms + 10_us, 9_ms).for_word(kWord + 4);
  EXPECT_EQ(pieces_of(b), (Pieces{{1_ms, 2_ms, kRunning},
                                  {2_ms, 7_ms, kBlocked},
                                  {7_ms, 7_ms + 10_us, kRunning},
                                  {7_ms + 10_us, 9_ms, kBlocked}}));
}

TEST(TimelineMerge, AThreadThatComputedBetweenMadeProgress) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 7_ms).for_word(kWord);
  b.blocked(kThread, 7_ms, 8_ms, 9_ms).for_word(kWord);
  EXPECT_EQ(pieces_of(b).size(), 4u);
}

TEST(TimelineMerge, AnotherCallBetweenIsProgress) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 4_ms).for_word(kWord);
  b.blocked(kThread, 4_ms, 4_ms + 10_us, 6_ms).on_pipe();
  b.blocked(kThread, 6_ms, 6_ms + 10_us, 9_ms).for_word(kWord);
  for (const Shown& piece : pieces_of(b)) EXPECT_FALSE(piece.merged) << piece;
}

TEST(TimelineMerge, AHoleBetweenIsNotSeenThrough) {
  RecordingBuilder b;
  b.blocked(kThread, 1_ms, 2_ms, 4_ms).for_word(kWord);
  b.blocked(kThread, 0, 5_ms, 9_ms).for_word(kWord);
  for (const Shown& piece : pieces_of(b)) EXPECT_FALSE(piece.merged) << piece;
}

class TimelineLookup : public ::testing::Test {
 protected:
  TimelineLookup() {
    builder_.blocked(kThread, 10_ms, 20_ms, 30_ms);
    builder_.blocked(kThread, 40_ms, 50_ms, 60_ms);
    recording_ = builder_.build();
  }
  RecordingBuilder builder_;
  model::Recording recording_;
};

TEST_F(TimelineLookup, BeforeFindsThePieceThatHoldsTheInstantJustBefore) {
  const Timeline timeline(recording_);
  auto lo_before = [&](TimeNs t) {
    const Piece* piece = timeline.before(kThread, t);
    return piece ? piece->at.lo : -1;
  };
  EXPECT_EQ(lo_before(10_ms), -1) << "nothing of the piece lies before its start";
  EXPECT_EQ(lo_before(10_ms + 1), 10_ms);
  EXPECT_EQ(lo_before(20_ms), 10_ms);
  EXPECT_EQ(lo_before(20_ms + 1), 20_ms);
  EXPECT_EQ(lo_before(30_ms), 20_ms);
  EXPECT_EQ(lo_before(30_ms + 1), -1) << "a hole";
  EXPECT_EQ(lo_before(40_ms), -1);
  EXPECT_EQ(lo_before(60_ms), 50_ms);
  EXPECT_EQ(lo_before(60_ms + 1), -1);
  EXPECT_EQ(timeline.before(12345, 20_ms), nullptr);
}

TEST_F(TimelineLookup, CoveredUntilIsTheEndOfTheLastPieceBefore) {
  const Timeline timeline(recording_);
  EXPECT_EQ(timeline.covered_until(kThread, 5_ms), 0);
  EXPECT_EQ(timeline.covered_until(kThread, 15_ms), 0);
  EXPECT_EQ(timeline.covered_until(kThread, 20_ms), 20_ms);
  EXPECT_EQ(timeline.covered_until(kThread, 29_ms), 20_ms);
  EXPECT_EQ(timeline.covered_until(kThread, 35_ms), 30_ms);
  EXPECT_EQ(timeline.covered_until(kThread, 99_ms), 60_ms);
  EXPECT_EQ(timeline.covered_until(12345, 99_ms), 0);
}

TEST(TimelineSlices, RanOnGivesTheSlicesOfThatCpuThatTouchTheInterval) {
  RecordingBuilder b;
  b.slice(0, 10_ms, 20_ms, 1, "a").slice(0, 20_ms, 30_ms, 2, "b").slice(0, 40_ms, 50_ms, 3, "c");
  b.slice(1, 15_ms, 35_ms, 4, "d");
  const auto recording = b.build();
  const Timeline timeline(recording);
  auto pids = [&](std::uint32_t cpu, TimeNs lo, TimeNs hi) {
    std::vector<model::Pid> found;
    for (const Slice& s : timeline.ran_on(cpu, {lo, hi})) found.push_back(s.pid);
    return found;
  };
  using Pids = std::vector<model::Pid>;
  EXPECT_EQ(pids(0, 0, 100_ms), (Pids{1, 2, 3}));
  EXPECT_EQ(pids(0, 12_ms, 20_ms), (Pids{1}));
  EXPECT_EQ(pids(0, 19_ms, 21_ms), (Pids{1, 2}));
  EXPECT_EQ(pids(0, 30_ms, 40_ms), Pids{});
  EXPECT_EQ(pids(0, 30_ms, 41_ms), (Pids{3}));
  EXPECT_EQ(pids(1, 0, 100_ms), (Pids{4}));
  EXPECT_EQ(pids(7, 0, 100_ms), Pids{});
}

TEST(TimelineSlices, OverlappingSlicesAreClippedAndEmptyOnesLeftOut) {
  RecordingBuilder b;
  b.slice(0, 10_ms, 20_ms, 1, "a").slice(0, 15_ms, 30_ms, 2, "b").slice(0, 12_ms, 13_ms, 3, "c");
  const auto recording = b.build();
  const Timeline timeline(recording);
  TimeNs end = 0;
  for (const Slice& s : timeline.ran_on(0, {0, 100_ms})) {
    EXPECT_LT(s.at.lo, s.at.hi);
    EXPECT_LE(end, s.at.lo);
    end = s.at.hi;
  }
  EXPECT_EQ(end, 30_ms);
}

}  // namespace
}  // namespace whystall::timeline
