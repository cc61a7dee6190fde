// SPDX-License-Identifier: Apache-2.0
#include "ledger/accounts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "support/recording_builder.h"

namespace whystall::ledger {
namespace {

using namespace testing;
using model::Cause;
using model::Confidence;
using model::Interval;
using model::Leaf;

constexpr Pid kMain = 100, kOther = 300;
constexpr Tid kHolder = 101;

class AccountsTest : public ::testing::Test {
 protected:
  AccountsTest() {
    b.task(kMain, kMain, "main").task(kHolder, kMain, "holder").task(kOther, kOther, "other");
    b.window(0, 1'000_ms);
  }

  static Leaf busy(TimeNs lo, TimeNs hi, Tid tid = kMain) {
    return {{lo, hi},
            Cause::kCpuBusy,
            Confidence::kProven,
            {.tid = tid, .pid = kMain},
            {{tid, -1, WST_FILE_NONE, {lo, hi}}}};
  }
  static model::Finding only(const Accounts& accounts) {
    const auto all = accounts.findings();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? model::Finding{} : all.front();
  }

  RecordingBuilder b;
};

TEST_F(AccountsTest, TheThreeGapsWithMostOfItAreItsEvidence) {
  const Names names(b.raw());
  Accounts accounts(names);
  const TimeNs lengths[] = {3_ms, 9_ms, 1_ms, 7_ms, 5_ms};
  for (std::size_t i = 0; i < std::size(lengths); i++) {
    const TimeNs lo = static_cast<TimeNs>(i) * 100_ms;
    accounts.charge(busy(lo, lo + lengths[i]), i, kMain);
    accounts.close(i, {lo, lo + 10_ms}, kMain);
  }
  const model::Finding f = only(accounts);
  EXPECT_EQ(f.gaps, 5u);
  ASSERT_EQ(f.evidence.size(), 3u);
  EXPECT_EQ(f.evidence[0].ns, 9_ms);
  EXPECT_EQ(f.evidence[1].ns, 7_ms);
  EXPECT_EQ(f.evidence[2].ns, 5_ms);
  EXPECT_EQ(f.evidence[0].gap.lo, 100_ms);
  EXPECT_EQ(f.evidence[0].gap.hi, 110_ms);
  EXPECT_EQ(f.evidence[0].pid, kMain);
}

TEST_F(AccountsTest, TheChainOfAGapIsThatOfItsLongestPieceHopByHop) {
  const Names names(b.raw());
  Accounts accounts(names);
  accounts.charge(busy(10_ms, 12_ms), 0, kMain);
  Leaf read = busy(12_ms, 20_ms, kHolder);
  read.chain = {{kMain, kPollCall, WST_FILE_PIPE, {12_ms, 20_ms}},
                {kHolder, kReadCall, WST_FILE_REGULAR, {13_ms, 20_ms}}};
  read.at.lo = 13_ms;
  accounts.charge(read, 0, kMain);
  accounts.close(0, {10_ms, 20_ms}, kMain);
  const auto evidence = only(accounts).evidence;
  ASSERT_EQ(evidence.size(), 1u);
  EXPECT_EQ(evidence[0].ns, 9_ms);
  EXPECT_EQ(evidence[0].pieces, 2u);
  EXPECT_EQ(evidence[0].longest.lo, 13_ms);
  ASSERT_EQ(evidence[0].chain.size(), 2u);
  EXPECT_EQ(evidence[0].chain[0].thread, "main 100");
  EXPECT_EQ(evidence[0].chain[0].call, "poll pipe");
  EXPECT_EQ(evidence[0].chain[0].at.lo, 12_ms);
  EXPECT_EQ(evidence[0].chain[1].thread, "holder 101");
  EXPECT_EQ(evidence[0].chain[1].at.hi, 20_ms);
}

/// As one that goes backwards in slabs of time gives them, against one gap after the other.
TEST_F(AccountsTest, TheOrderOfLeavesAndGapsDoesNotMatter) {
  struct Gap {
    std::size_t number;
    Interval at;
    std::vector<Leaf> leaves;
  };
  std::mt19937_64 random(7);
  std::vector<Gap> gaps;
  for (std::size_t i = 0; i < 40; i++) {
    Gap gap{i, {static_cast<TimeNs>(i) * 20_ms, static_cast<TimeNs>(i) * 20_ms + 10_ms}, {}};
    for (TimeNs at = gap.at.lo; at < gap.at.hi;) {
      const TimeNs end = std::min<TimeNs>(gap.at.hi, at + 1 + static_cast<TimeNs>(random() % 3_ms));
      gap.leaves.push_back(busy(at, end, random() % 2 ? kMain : kHolder));
      at = end;
    }
    gaps.push_back(std::move(gap));
  }
  const Names names(b.raw());
  Accounts forwards(names), backwards(names);
  for (const Gap& gap : gaps) {
    for (const Leaf& leaf : gap.leaves) forwards.charge(leaf, gap.number, kMain);
    forwards.close(gap.number, gap.at, kMain);
  }
  // Backwards, three gaps open at a time, their leaves mixed.
  for (std::size_t end = gaps.size(); end > 0; end -= std::min<std::size_t>(3, end)) {
    const std::size_t begin = end - std::min<std::size_t>(3, end);
    std::vector<std::pair<std::size_t, Leaf>> mixed;
    for (std::size_t i = begin; i < end; i++)
      for (const Leaf& leaf : gaps[i].leaves) mixed.emplace_back(i, leaf);
    std::shuffle(mixed.begin(), mixed.end(), random);
    for (const auto& [gap, leaf] : mixed) backwards.charge(leaf, gap, kMain);
    for (std::size_t i = end; i > begin; i--) backwards.close(i - 1, gaps[i - 1].at, kMain);
  }
  const model::Finding a = only(forwards), z = only(backwards);
  EXPECT_EQ(a.ns, z.ns);
  EXPECT_EQ(a.gaps, 40u);
  EXPECT_EQ(z.gaps, 40u);
  EXPECT_EQ(a.pieces, z.pieces);
  EXPECT_EQ(a.path, z.path);
  EXPECT_EQ(a.recurrence.kind, z.recurrence.kind);
  EXPECT_EQ(a.recurrence.kind, model::Recurrence::Kind::kEachGap);
  ASSERT_EQ(a.evidence.size(), z.evidence.size());
  for (std::size_t i = 0; i < a.evidence.size(); i++) {
    EXPECT_EQ(a.evidence[i].gap.lo, z.evidence[i].gap.lo);
    EXPECT_EQ(a.evidence[i].ns, z.evidence[i].ns);
    EXPECT_EQ(a.evidence[i].longest.lo, z.evidence[i].longest.lo);
  }
}

TEST_F(AccountsTest, AGapThatIsNotClosedCountsInTheTimesAlone) {
  const Names names(b.raw());
  Accounts accounts(names);
  accounts.charge(busy(0, 5_ms), 0, kMain);
  const model::Finding f = only(accounts);
  EXPECT_EQ(f.ns, 5_ms);
  EXPECT_EQ(f.gaps, 0u);
  EXPECT_TRUE(f.evidence.empty());
}

TEST_F(AccountsTest, ALockIsAnEdgeOfTheChainAndARollUpOfItsOwn) {
  const auto file = b.file(1, "/data/1.bin");
  const Names names(b.raw());
  Accounts accounts(names);
  const Leaf read{{10_ms, 30_ms},
                  Cause::kStorageRead,
                  Confidence::kProven,
                  {.file = file},
                  {{kMain, kFutexCall, WST_FILE_NONE, {10_ms, 30_ms}, 0x7f00},
                   {kHolder, kReadCall, WST_FILE_REGULAR, {10_ms, 30_ms}}}};
  accounts.charge(read, 0, kMain);
  accounts.charge(busy(30_ms, 35_ms), 0, kMain);
  accounts.close(0, {10_ms, 35_ms}, kMain);
  const auto findings = accounts.findings();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].path, "main 100 ← lock 0x7f00 held by holder 101 ← read");
  EXPECT_EQ(findings[0].evidence.front().chain.front().lock, 0x7f00u);
  const auto locks = accounts.through_locks();
  ASSERT_EQ(locks.size(), 1u);
  EXPECT_EQ(locks[0].ns, 20_ms);
  EXPECT_EQ(locks[0].pieces, 1u);
  EXPECT_EQ(locks[0].holder, kHolder);
  EXPECT_EQ(locks[0].name, "lock 0x7f00 held by holder 101");
}

TEST_F(AccountsTest, AStopSaysWhoEndedIt) {
  b.task(123, 123, "bash");
  const Names names(b.raw());
  Accounts accounts(names);
  Leaf stop = busy(0, 5_ms);
  stop.cause = Cause::kCpuStopped;
  stop.object = {.tid = kMain, .pid = 123};
  accounts.charge(stop, 0, kMain);
  EXPECT_EQ(only(accounts).object, "main 100 stopped, let go on by bash 123");
  stop.object.tid = kHolder;
  accounts.charge(stop, 0, kMain);
  EXPECT_EQ(only(accounts).object, "main (2 threads) stopped, let go on by bash 123");
}

TEST_F(AccountsTest, OwnThreadsAreCalledSo) {
  const Names names(b.raw());
  Accounts accounts(names);
  Leaf wait = busy(0, 5_ms);
  wait.cause = Cause::kCpuOversubscription;
  accounts.charge(wait, 0, kMain);
  EXPECT_EQ(only(accounts).object, "own threads of main 100");
}

}  // namespace
}  // namespace whystall::ledger
