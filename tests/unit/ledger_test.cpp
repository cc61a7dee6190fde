// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/recording_builder.h"

namespace whystall::ledger {
namespace {

using namespace testing;
using model::Cause;
using model::Confidence;
using model::Diagnosis;
using model::Finding;

constexpr Tid kMain = 100, kWorker = 101;
constexpr Pid kOther = 300;

class Ledger : public ::testing::Test {
 protected:
  Ledger() {
    b.task(kMain, kMain, "main").task(kWorker, kMain, "worker").task(kOther, kOther, "other");
  }

  /// A gap that the main thread spends in a cold read of `file`.
  void read_gap(TimeNs lo, TimeNs hi, const model::FileKey& file) {
    b.proven_gap(lo, hi, kMain);
    b.blocked(kMain, 0, lo, hi).reading(file).woken_in(WST_CTX_SOFTIRQ);
  }
  const Finding& only_finding(const Diagnosis& d) {
    EXPECT_EQ(d.findings.size(), 1u);
    static const Finding kNone;
    return d.findings.empty() ? kNone : d.findings.front();
  }

  RecordingBuilder b;
};

TEST_F(Ledger, SumsTheWindow) {
  const auto file = b.file(1, "/data/1.jpg");
  read_gap(10_ms, 30_ms, file);
  b.sync_context(40_ms, 50_ms, kMain).submit(50_ms + 5_us, kMain);
  const Diagnosis d = diagnose(b.build());
  EXPECT_EQ(d.window_ns, 99_ms);
  EXPECT_EQ(d.starved_ns, 20_ms);
  EXPECT_EQ(d.starved_proven_ns, 20_ms);
  EXPECT_EQ(d.micro_gap_ns, 5_us);
  EXPECT_EQ(d.had_work_ns + d.not_known_ns, 99_ms - 20_ms - 5_us);
  EXPECT_EQ(d.gaps, 1u);
  EXPECT_EQ(d.micro_gaps, 1u);
  EXPECT_EQ(d.submits, 3u);
  EXPECT_EQ(d.syncs, 2u);
  EXPECT_EQ(d.conservation_error_ns, 0);
}

TEST_F(Ledger, GapsUnderTwentyMicrosecondsAreLaunchOverhead) {
  b.proven_gap(10_ms, 10_ms + 19_us + 999, kMain);
  const Diagnosis d = diagnose(b.build());
  const Finding& f = only_finding(d);
  EXPECT_EQ(f.cause, Cause::kGpuLaunch);
  EXPECT_EQ(f.ns, 19_us + 999);
  EXPECT_EQ(d.micro_gaps, 1u);
  EXPECT_EQ(d.gaps, 0u);
  EXPECT_EQ(d.starved_ns, 0);
}

TEST_F(Ledger, AGapOfTwentyMicrosecondsIsWalked) {
  b.proven_gap(10_ms, 10_ms + 20_us, kMain);
  b.running(kMain, 5_ms, 60_ms);
  const Diagnosis d = diagnose(b.build());
  EXPECT_EQ(only_finding(d).cause, Cause::kCpuBusy);
  EXPECT_EQ(d.gaps, 1u);
  EXPECT_EQ(d.micro_gaps, 0u);
}

TEST_F(Ledger, FilesOfOneDirectoryAreOneFindingWithTheDearestFirst) {
  const auto first = b.file(1, "/data/1.jpg"), second = b.file(2, "/data/2.jpg");
  read_gap(10_ms, 15_ms, first);
  read_gap(20_ms, 40_ms, second);
  read_gap(50_ms, 52_ms, first);
  const Diagnosis d = diagnose(b.build());
  const Finding& f = only_finding(d);
  EXPECT_EQ(f.ns, 27_ms);
  EXPECT_EQ(f.gaps, 3u);
  EXPECT_EQ(f.pieces, 3u);
  EXPECT_EQ(f.confidence, Confidence::kProven);
  ASSERT_EQ(f.objects.size(), 2u);
  EXPECT_EQ(f.objects[0].name, "/data/2.jpg");
  EXPECT_EQ(f.objects[0].ns, 20_ms);
  EXPECT_EQ(f.objects[1].name, "/data/1.jpg");
  EXPECT_EQ(f.objects[1].ns, 7_ms);
  EXPECT_NE(f.object.find("/data/"), std::string::npos) << f.object;
  EXPECT_NE(f.object.find("2 files"), std::string::npos) << f.object;
  EXPECT_NE(f.object.find("ext4"), std::string::npos) << f.object;
}

TEST_F(Ledger, DirectoriesAndFileSystemsAreApart) {
  read_gap(10_ms, 15_ms, b.file(1, "/data/1.jpg"));
  read_gap(20_ms, 26_ms, b.file(2, "/logs/1.jpg"));
  read_gap(30_ms, 37_ms, b.file(3, "/data/3.jpg", "nfs4"));
  const Diagnosis d = diagnose(b.build());
  ASSERT_EQ(d.findings.size(), 3u);
  EXPECT_EQ(d.findings[0].ns, 7_ms);
  EXPECT_EQ(d.findings[1].ns, 6_ms);
  EXPECT_EQ(d.findings[2].ns, 5_ms);
}

TEST_F(Ledger, WhatIsNotKnownComesLastHoweverLong) {
  const auto file = b.file(1, "/data/1.jpg");
  b.proven_gap(10_ms, 60_ms, kMain);
  b.blocked(kMain, 0, 10_ms, 50_ms).on_pipe();
  b.blocked(kMain, 0, 50_ms, 60_ms).reading(file);
  const Diagnosis d = diagnose(b.build());
  ASSERT_EQ(d.findings.size(), 2u);
  EXPECT_EQ(d.findings[0].cause, Cause::kStorageRead);
  EXPECT_EQ(d.findings[1].cause, Cause::kUnknown);
  EXPECT_EQ(d.findings[1].ns, 40_ms);
  EXPECT_EQ(d.explained_ns(), 10_ms);
  EXPECT_EQ(d.stalled_ns(), 50_ms);
}

TEST_F(Ledger, TheLongestPieceGivesTheChain) {
  const auto file = b.file(1, "/data/1.jpg");
  b.proven_gap(10_ms, 50_ms, kMain);
  b.blocked(kMain, 5_ms, 10_ms, 50_ms).on_pipe().woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 8_ms, 52_ms).reading(file);
  const Diagnosis d = diagnose(b.build());
  const std::string& path = only_finding(d).path;
  const std::size_t main = path.find("main 100"), pipe = path.find("pipe"),
                    worker = path.find("worker 101"), read = path.rfind("read");
  EXPECT_TRUE(main < pipe && pipe < worker && worker < read && read != std::string::npos) << path;
}

TEST_F(Ledger, NamesTheLockItsHolderAndWhatItDid) {
  b.proven_gap(10_ms, 50_ms, kMain);
  b.blocked(kMain, 5_ms, 10_ms, 50_ms).for_lock(0xabc0).woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 8_ms, 52_ms).sleeping();
  const Diagnosis d = diagnose(b.build());
  const Finding& f = only_finding(d);
  EXPECT_EQ(f.cause, Cause::kLockUser);
  for (const char* part : {"0xabc0", "worker 101", "slept"})
    EXPECT_NE(f.object.find(part), std::string::npos) << part;
  ASSERT_EQ(f.objects.size(), 1u);
  EXPECT_EQ(f.objects[0].kind, "lock");
  EXPECT_EQ(f.objects[0].comm, "worker");
}

TEST_F(Ledger, NamesAProcessThatOnlyASliceKnows) {
  b.proven_gap(10_ms, 50_ms, kMain);
  b.runnable(kMain, 5_ms, 10_ms, 50_ms).on_cpu(0);
  b.slice(0, 1_ms, 90_ms, 4242, "hog");
  const Diagnosis d = diagnose(b.build());
  const Finding& f = only_finding(d);
  EXPECT_EQ(f.cause, Cause::kCpuContention);
  EXPECT_NE(f.object.find("hog"), std::string::npos);
  EXPECT_NE(f.object.find("4242"), std::string::npos);
}

TEST_F(Ledger, AGapBeforeAContextWideProofIsNotCountedAsProven) {
  b.submit(2_ms, kMain).sync_stream(3_ms, 10_ms, kMain).submit(30_ms, kMain);
  b.running(kMain, 1_ms, 60_ms);
  const Diagnosis d = diagnose(b.build());
  EXPECT_EQ(d.starved_ns, 20_ms);
  EXPECT_EQ(d.starved_proven_ns, 0);
  EXPECT_EQ(only_finding(d).confidence, Confidence::kLikely);
  EXPECT_EQ(only_finding(d).by_confidence, (std::array<model::DurationNs, 4>{0, 20_ms, 0, 0}));
}

TEST_F(Ledger, CountsLostRecordsButNotEventsOfTasksWithoutStorage) {
  b.loss(5, WST_LOST_WAIT).loss(7, WST_LOST_API).loss(1'000, WST_LOST_STORAGE);
  EXPECT_EQ(diagnose(b.build()).lost_records, 12u);
}

TEST_F(Ledger, WhereWaitsWereLostACauseIsOneStepLessSure) {
  const auto file = b.file(1, "/data/1.jpg");
  read_gap(10_ms, 30_ms, file);
  read_gap(40_ms, 70_ms, file);
  b.loss(1, WST_LOST_WAIT, 20_ms, 21_ms);
  const Diagnosis d = diagnose(b.build());
  EXPECT_EQ(only_finding(d).by_confidence, (std::array<model::DurationNs, 4>{30_ms, 20_ms, 0, 0}));
}

TEST_F(Ledger, EventsOfTasksWithoutStorageMakeWhatIsKnownOfOthersNoLessSure) {
  read_gap(10_ms, 30_ms, b.file(1, "/data/1.jpg"));
  b.loss(2, WST_LOST_STORAGE, 20_ms, 21_ms);
  EXPECT_EQ(only_finding(diagnose(b.build())).confidence, Confidence::kProven);
}

TEST_F(Ledger, LossesOfTwoKindsAtOneTimeAreStillOneStep) {
  read_gap(10_ms, 30_ms, b.file(1, "/data/1.jpg"));
  b.loss(1, WST_LOST_WAIT, 20_ms, 21_ms).loss(1, WST_LOST_SLICE, 20_ms, 21_ms);
  const Diagnosis d = diagnose(b.build());
  EXPECT_EQ(only_finding(d).confidence, Confidence::kLikely);
}

TEST_F(Ledger, AnEmptyRecordingHasNothingToSay) {
  const Diagnosis d = diagnose(model::Recording{});
  EXPECT_EQ(d.window_ns, 0);
  EXPECT_EQ(d.stalled_ns(), 0);
  EXPECT_EQ(d.had_work_ns + d.not_known_ns, 0);
  EXPECT_TRUE(d.findings.empty());
}

// Both processes are starved at once from 10 to 90 ms of a window of 99 ms: each counts for itself.
TEST_F(Ledger, TwoStarvedProcessesAreNotMoreThanWhatWasObserved) {
  for (const Tid tid : {kMain, kOther}) {
    b.proven_gap(10_ms, 90_ms, tid);
    b.running(tid, 1_ms, 95_ms);
  }
  const Diagnosis d = diagnose(b.build());
  EXPECT_EQ(d.contexts, 2u);
  EXPECT_EQ(d.stalled_ns(), 2 * 80'000'000);
  EXPECT_EQ(d.had_work_ns + d.not_known_ns, 2 * d.window_ns - d.stalled_ns());
}

}  // namespace
}  // namespace whystall::ledger
