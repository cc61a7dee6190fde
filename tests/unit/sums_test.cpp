// SPDX-License-Identifier: Apache-2.0
// Waits that were added up, as pieces of their thread's time.
#include <gtest/gtest.h>

#include <utility>

#include "timeline/timeline.h"

namespace whystall::timeline {
namespace {

using model::DurationNs;
using model::Recording;
using model::TimeNs;

constexpr model::Tid kThread = 7;

wst_sum sum(std::uint32_t count, TimeNs first, TimeNs out, TimeNs wake, TimeNs in,
            DurationNs blocked, DurationNs runnable) {
  wst_sum s{};
  s.count = count;
  s.first_ns = static_cast<std::uint64_t>(first);
  s.out_ns = static_cast<std::uint64_t>(out);
  s.wake_ns = static_cast<std::uint64_t>(wake);
  s.in_ns = static_cast<std::uint64_t>(in);
  s.blocked_ns = static_cast<std::uint64_t>(blocked);
  s.runnable_ns = static_cast<std::uint64_t>(runnable);
  s.flags = WST_WAIT_BLOCKED | WST_WAIT_WOKEN;
  s.nr = 0;
  s.file_kind = WST_FILE_PIPE;
  s.object = 99;
  s.waker_tid = 8;
  return s;
}

model::Sums sums(TimeNs from, TimeNs to, std::vector<wst_sum> entries) {
  model::Sums s{};
  s.head.h.ts = static_cast<std::uint64_t>(to);
  s.head.from_ns = static_cast<std::uint64_t>(from);
  s.head.tid = kThread;
  s.head.count = static_cast<std::uint32_t>(entries.size());
  s.entries = std::move(entries);
  return s;
}

wst_wait long_wait(TimeNs ran, TimeNs out, TimeNs wake, TimeNs in) {
  wst_wait w{};
  w.tid = kThread;
  w.ran_ns = static_cast<std::uint64_t>(ran);
  w.out_ns = static_cast<std::uint64_t>(out);
  w.wake_ns = static_cast<std::uint64_t>(wake);
  w.h.ts = static_cast<std::uint64_t>(in);
  w.flags = WST_WAIT_BLOCKED | WST_WAIT_WOKEN;
  return w;
}

struct Totals {
  DurationNs running = 0, runnable = 0, blocked = 0, holes = 0;
};

/// What a thread's pieces say of [lo, hi), mixed ones by their shares.
Totals totals(const Timeline& timeline, TimeNs lo, TimeNs hi) {
  Totals t;
  TimeNs done = lo;
  for (const Piece& piece : timeline.thread(kThread)) {
    EXPECT_GE(piece.at.lo, done) << "an overlap";
    t.holes += piece.at.lo - done;
    done = piece.at.hi;
    const DurationNs length = piece.at.length();
    if (piece.state == State::kRunning) t.running += length;
    if (piece.state == State::kRunnable) t.runnable += length;
    if (piece.state == State::kBlocked) t.blocked += length;
    if (piece.state != State::kMixed) continue;
    DurationNs rest = length;
    for (const Share& share : piece.mix->shares) {
      const DurationNs blocked = share.blocked * length / piece.mix->length;
      const DurationNs runnable = share.runnable * length / piece.mix->length;
      t.blocked += blocked;
      t.runnable += runnable;
      rest -= blocked + runnable;
    }
    t.running += rest;
  }
  t.holes += hi - done;
  return t;
}

TEST(Sums, ASingleWaitLiesWhereItWas) {
  Recording r;
  r.sums = {sums(1000, 5000, {sum(1, 2000, 2000, 2600, 3000, 600, 400)})};
  const Timeline timeline(r);
  const auto pieces = timeline.thread(kThread);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].state, State::kRunning);
  EXPECT_EQ(pieces[1].state, State::kBlocked);
  EXPECT_EQ(pieces[1].at.lo, 2000);
  EXPECT_EQ(pieces[1].at.hi, 2600);
  EXPECT_EQ(pieces[1].wait->waker_tid, 8u);
  EXPECT_EQ(pieces[1].wait->ino, 99u);
  EXPECT_EQ(pieces[2].state, State::kRunnable);
  EXPECT_EQ(pieces[2].at.hi, 3000);
  EXPECT_EQ(pieces[3].state, State::kRunning);
  EXPECT_EQ(pieces[3].at.hi, 5000);
}

TEST(Sums, OfManyTheLastIsExactAndTheOthersAreShares) {
  Recording r;
  r.sums = {sums(0, 10'000, {sum(5, 100, 8000, 8600, 9000, 600 + 2000, 400 + 800)})};
  const Timeline timeline(r);
  const Totals t = totals(timeline, 0, 10'000);
  EXPECT_NEAR(static_cast<double>(t.blocked), 2600, 3);
  EXPECT_NEAR(static_cast<double>(t.runnable), 1200, 3);
  EXPECT_NEAR(static_cast<double>(t.running), 6200, 6);
  EXPECT_EQ(t.holes, 0);
  const Piece* last = timeline.before(kThread, 8500);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->state, State::kBlocked);
}

TEST(Sums, FillTheRunsBetweenLongWaits) {
  Recording r;
  r.waits = {long_wait(1000, 10'000, 14'000, 15'000)};
  r.sums = {sums(2000, 10'000, {sum(4, 2000, 6000, 6500, 6500, 2000, 0)})};
  const Timeline timeline(r);
  const Totals t = totals(timeline, 1000, 15'000);
  EXPECT_EQ(t.holes, 0);
  EXPECT_NEAR(static_cast<double>(t.blocked), 4000 + 2000, 3);
  EXPECT_EQ(t.runnable, 1000);
  EXPECT_NEAR(static_cast<double>(t.running), 7000, 3);
}

TEST(Sums, ASnapshotIsReplacedByWhatFollows) {
  Recording r;
  r.sums = {sums(1000, 3000, {sum(1, 2000, 2000, 2500, 2500, 500, 0)}),
            sums(1000, 6000, {sum(2, 2000, 5000, 5500, 5500, 1000, 0)})};
  r.sums[0].head.flags = WST_SUMS_SNAPSHOT;
  const Timeline timeline(r);
  const Totals t = totals(timeline, 1000, 6000);
  EXPECT_NEAR(static_cast<double>(t.blocked), 1000, 2);
  EXPECT_EQ(t.holes, 0);
}

// A journal's entry may have begun before the time from which the journal is whole.
TEST(Sums, MoreThanTheTimeHoldsIsNotKnownRatherThanRunning) {
  Recording r;
  r.sums = {sums(5000, 6000, {sum(50, 100, 5200, 5400, 5400, 90'000, 0)})};
  const Timeline timeline(r);
  const Totals t = totals(timeline, 5000, 6000);
  EXPECT_EQ(t.blocked, 200);
  EXPECT_EQ(t.running, 0);
  EXPECT_EQ(t.holes, 800);
}

TEST(Sums, HostileTimesMakeNoOverlap) {
  Recording r;
  r.waits = {long_wait(0, 3000, 4000, 4000)};
  r.sums = {
      sums(5000, 4000, {sum(1, 1, 1, 1, 1, 1, 1)}),
      sums(2000, 3500, {sum(3, 9000, 100, 5, 1, 77, 1), sum(1, 2500, 2500, 9000, 9999, 1, 1)}),
      sums(1000, 3800, {})};
  const Timeline timeline(r);
  static_cast<void>(totals(timeline, 0, 4000));
}

TEST(Queues, FollowAMoveWhileRunnable) {
  Recording r;
  wst_wait w = long_wait(0, 1000, 2000, 9000);
  w.h.cpu = 3;
  w.flags |= WST_WAIT_MIGRATED;
  r.waits = {w};
  wst_migrate move{};
  move.h.ts = 5000;
  move.tid = kThread;
  move.from_cpu = 1;
  move.to_cpu = 3;
  r.migrations = {move};
  const Timeline timeline(r);
  const auto queues = timeline.queues(r.waits[0], {2000, 9000});
  ASSERT_EQ(queues.size(), 2u);
  EXPECT_EQ(queues[0].cpu, 1u);
  EXPECT_EQ(queues[0].at.hi, 5000);
  EXPECT_EQ(queues[1].cpu, 3u);
  EXPECT_EQ(queues[1].at.hi, 9000);
}

TEST(Queues, AMoveThatWasNotRecordedIsNotGuessed) {
  Recording r;
  wst_wait w = long_wait(0, 1000, 2000, 9000);
  w.flags |= WST_WAIT_MIGRATED;
  r.waits = {w};
  const Timeline timeline(r);
  EXPECT_TRUE(timeline.queues(r.waits[0], {2000, 9000}).empty());
}

}  // namespace
}  // namespace whystall::timeline
