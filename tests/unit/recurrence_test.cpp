// SPDX-License-Identifier: Apache-2.0
#include "ledger/recurrence.h"

#include <gtest/gtest.h>

#include <random>

#include "output/words.h"
#include "support/recording_builder.h"

namespace whystall::ledger {
namespace {

using namespace testing;
using Kind = model::Recurrence::Kind;

constexpr model::Interval kWindow{0, 10'000_ms};
constexpr Pid kPid = 100;

std::string words(const model::Recurrence& r) {
  return output::recurrence_words(r, model::Meta{});
}

TEST(Recurrence, EveryHundredGaps) {
  Occurrences o;
  for (std::uint64_t i = 0; i < 10; i++)
    o.add(static_cast<TimeNs>(i) * 1'000_ms, 50_ms, kPid, i * 100);
  const auto r = o.recurrence(kWindow, 1'000);
  EXPECT_EQ(r.kind, Kind::kEvery);
  EXPECT_EQ(r.gaps, 100u);
  EXPECT_EQ(r.ns, 1'000_ms);
  EXPECT_EQ(words(r), "every 100 gaps (1.00 s)");
}

TEST(Recurrence, StaysWithJitterAndCountedBackwards) {
  std::mt19937_64 random(3);
  Occurrences o;
  for (std::uint64_t i = 20; i > 0; i--) {
    const auto jitter = static_cast<TimeNs>(random() % 60'000'000) - 30'000'000;
    o.add(static_cast<TimeNs>(i) * 450_ms + jitter, 40_ms + static_cast<TimeNs>(random() % 9_ms),
          kPid, 1'000 - i * 50 + random() % 5);
  }
  const auto r = o.recurrence(kWindow, 1'000);
  EXPECT_EQ(r.kind, Kind::kEvery);
  EXPECT_NEAR(static_cast<double>(r.gaps), 50, 4);
  EXPECT_NEAR(static_cast<double>(r.ns), 450e6, 40e6);
}

TEST(Recurrence, OneThatIsMissedOfTenIsStillARule) {
  Occurrences o;
  for (std::uint64_t i = 0; i < 12; i++) {
    if (i != 5) o.add(static_cast<TimeNs>(i) * 800_ms, 50_ms, kPid, i * 100);
  }
  EXPECT_EQ(o.recurrence(kWindow, 1'200).gaps, 100u);
}

TEST(Recurrence, SaysNothingOfWhatComesAtRandom) {
  std::mt19937_64 random(11);
  int told = 0;
  for (int round = 0; round < 200; round++) {
    Occurrences o;
    for (std::uint64_t gap = 0; gap < 1'000; gap++) {
      if (random() % 20 == 0) o.add(static_cast<TimeNs>(gap) * 10_ms, 5_ms, kPid, gap);
    }
    told += o.recurrence(kWindow, 1'000).kind != Kind::kNone;
  }
  EXPECT_EQ(told, 0);
}

TEST(Recurrence, SmallSharesDoNotHideTheLongOnes) {
  Occurrences o;
  for (std::uint64_t gap = 0; gap < 1'000; gap++)
    o.add(static_cast<TimeNs>(gap) * 10_ms, gap % 100 == 0 ? 100_ms : 10_us, kPid, gap);
  const auto r = o.recurrence(kWindow, 1'000);
  EXPECT_EQ(r.gaps, 100u);
  EXPECT_EQ(r.occurrences, 10u);
}

TEST(Recurrence, ALongOneAmongManyThatSumUpIsNoRule) {
  Occurrences o;
  for (std::uint64_t gap = 0; gap < 1'000; gap++)
    o.add(static_cast<TimeNs>(gap) * 10_ms, gap % 100 == 0 ? 11_ms : 1_ms, kPid, gap);
  EXPECT_EQ(o.recurrence(kWindow, 1'000).kind, Kind::kNone);
}

TEST(Recurrence, OnceAndOnceAtStart) {
  Occurrences late, early, few;
  late.add(5'000_ms, 50_ms, kPid, 500);
  EXPECT_EQ(words(late.recurrence(kWindow, 1'000)), "once");
  early.add(10_ms, 50_ms, kPid, 1);
  EXPECT_EQ(words(early.recurrence(kWindow, 1'000)), "once, at the start");
  few.add(10_ms, 50_ms, kPid, 1);
  EXPECT_EQ(words(few.recurrence(kWindow, 2)), "") << "two gaps make no rule";
}

TEST(Recurrence, OnlyAtTheStart) {
  Occurrences o;
  for (std::uint64_t gap = 0; gap < 8; gap++)
    o.add(static_cast<TimeNs>(gap) * 100_ms, 50_ms, kPid, gap);
  const auto r = o.recurrence(kWindow, 100);
  EXPECT_EQ(r.kind, Kind::kAtStart);
  EXPECT_EQ(words(r), "only in the first 0.70 s");
}

TEST(Recurrence, InEveryGapIsNoPeriod) {
  Occurrences o;
  for (std::uint64_t gap = 0; gap < 100; gap++)
    o.add(static_cast<TimeNs>(gap) * 100_ms, 5_ms, kPid, gap);
  const auto r = o.recurrence(kWindow, 100);
  EXPECT_EQ(r.kind, Kind::kEachGap);
  EXPECT_EQ(words(r), "in nearly every gap");
}

TEST(Recurrence, GapsOfTwoProcessesAreNotCountedTogether) {
  Occurrences o;
  for (std::uint64_t i = 0; i < 10; i++)
    o.add(static_cast<TimeNs>(i) * 1'000_ms, 50_ms, i % 2 ? kPid : 200, i * 100);
  const auto r = o.recurrence(kWindow, 1'000);
  EXPECT_EQ(r.gaps, 0u);
  EXPECT_EQ(words(r), "every 1.00 s");
}

TEST(Recurrence, KeepsTheLongestOfMore) {
  Occurrences o;
  for (std::uint64_t gap = 0; gap < 100'000; gap++)
    o.add(static_cast<TimeNs>(gap) * 100_us, gap % 1'000 == 0 ? 80_ms : 10_us, kPid, gap);
  const auto r = o.recurrence(kWindow, 100'000);
  EXPECT_EQ(r.occurrences, 100u);
  EXPECT_EQ(r.gaps, 1'000u);
}

}  // namespace
}  // namespace whystall::ledger
