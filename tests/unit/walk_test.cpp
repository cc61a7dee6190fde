// SPDX-License-Identifier: Apache-2.0
#include "support/walked.h"

namespace whystall::walk {
namespace {

using namespace testing;
using model::Cause;
using model::Reason;

class Walk : public WalkTest {
 protected:
  /// `tid` waits from 10 to 50 ms for whoever the result says.
  WaitRef waits(Tid tid) {
    WaitRef wait = b.blocked(tid, 5_ms, 10_ms, 50_ms);
    return wait;
  }
};

TEST_F(Walk, NamesTheFileThatTheMainThreadReads) {
  const auto file = b.file(1, "/data/1.jpg");
  b.blocked(kMain, 5_ms, 12_ms, 48_ms).reading(file).woken_in(WST_CTX_SOFTIRQ);
  b.running(kMain, 48_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..12 cpu.busy proven", "12..48 storage.read proven",
                                        "48..50 cpu.busy proven"}));
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.file, file);
  EXPECT_EQ(tids(leaf_at(20_ms, 10_ms, 50_ms)), (std::vector{kMain}));
  EXPECT_EQ(leaf_at(11_ms, 10_ms, 50_ms).object.tid, kMain);
}

TEST_F(Walk, NamesTheFileThatAWorkerReads) {
  const auto file = b.file(1, "/data/1.jpg");
  waits(kMain).on_pipe().woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 15_ms, 45_ms).reading(file).woken_in(WST_CTX_SOFTIRQ);
  b.running(kWorker, 45_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..15 cpu.busy proven", "15..45 storage.read proven",
                                        "45..50 cpu.busy proven"}));
  const auto read = leaf_at(20_ms, 10_ms, 50_ms);
  EXPECT_EQ(read.object.file, file);
  ASSERT_EQ(tids(read), (std::vector{kMain, kWorker}));
  EXPECT_EQ(read.chain[0].nr, kReadCall);
  EXPECT_EQ(read.chain[0].file_kind, WST_FILE_PIPE);
  EXPECT_EQ(read.chain[1].file_kind, WST_FILE_REGULAR);
  EXPECT_EQ(leaf_at(46_ms, 10_ms, 50_ms).object.tid, kWorker) << "who computed";
}

TEST_F(Walk, FollowsThreeToFiveHops) {
  for (Tid hops = 3; hops <= 5; hops++) {
    b = RecordingBuilder();
    const auto file = b.file(1, "/data/1.jpg");
    std::vector<Tid> chain;
    for (Tid i = 0; i < hops; i++) {
      const Tid tid = kMain + i;
      const TimeNs inset = static_cast<TimeNs>(i) * 1_ms;
      b.task(tid, kMain, "stage");
      auto wait = b.blocked(tid, 5_ms, 10_ms + inset, 50_ms - inset);
      if (i + 1 == hops)
        wait.reading(file);
      else
        wait.on_pipe().woken_by(tid + 1, kMain);
      b.running(tid, 50_ms - inset, 60_ms);
      chain.push_back(tid);
    }
    const auto read = leaf_at(30_ms, 10_ms, 50_ms);
    EXPECT_EQ(read.cause, Cause::kStorageRead);
    EXPECT_EQ(read.confidence, model::Confidence::kProven);
    EXPECT_EQ(tids(read), chain);
    EXPECT_EQ(read.at.lo, 10_ms + (hops - 1) * 1_ms);
  }
}

TEST_F(Walk, NeverLooksOutsideTheWaitThatLedToAThread) {
  const auto file = b.file(1, "/data/1.jpg");
  b.blocked(kMain, 5_ms, 20_ms, 30_ms).on_pipe().woken_by(kWorker, kMain);
  b.running(kMain, 30_ms, 60_ms);
  b.blocked(kWorker, 1_ms, 2_ms, 55_ms).reading(file);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..20 cpu.busy proven", "20..30 storage.read proven",
                                        "30..50 cpu.busy proven"}));
}

TEST_F(Walk, GoesToAnotherWorkerForEachWait) {
  const auto file = b.file(1, "/data/1.jpg");
  b.blocked(kMain, 5_ms, 10_ms, 30_ms).on_pipe().woken_by(kWorker, kMain);
  b.blocked(kMain, 0, 30_ms, 50_ms).on_pipe().woken_by(kThird, kMain);
  b.blocked(kWorker, 5_ms, 9_ms, 30_ms).reading(file);
  b.blocked(kThird, 5_ms, 9_ms, 50_ms).sleeping();
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..30 storage.read proven", "30..50 wait.sleep proven"}));
}

TEST_F(Walk, TheTimeFromTheWakeUpToTheCpuIsNotTheWakersFault) {
  const auto file = b.file(1, "/data/1.jpg");
  b.blocked(kMain, 5_ms, 10_ms, 40_ms, 50_ms).on_pipe().woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 9_ms, 40_ms).reading(file);
  EXPECT_EQ(texts(10_ms, 50_ms),
            (Texts{"10..40 storage.read proven", "40..50 cpu.waiting proven"}));
}

constexpr std::uint64_t kLock = 0x7f0012345678;

TEST_F(Walk, NamesTheLockAndItsHolderThatComputed) {
  waits(kMain).for_lock(kLock).woken_by(kWorker, kMain);
  b.running(kWorker, 5_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 lock.user likely"}));
  const auto leaf = leaf_at(20_ms, 10_ms, 50_ms);
  EXPECT_EQ(leaf.object.address, kLock);
  EXPECT_EQ(leaf.object.tid, kWorker);
  EXPECT_EQ(leaf.object.pid, kMain);
  EXPECT_FALSE(leaf.object.slept);
}

TEST_F(Walk, NamesTheLockAndItsHolderThatSlept) {
  waits(kMain).for_lock(kLock).woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 12_ms, 48_ms).sleeping().woken_in(WST_CTX_TIMER);
  b.running(kWorker, 48_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..12 lock.user likely", "12..48 lock.user likely",
                                        "48..50 lock.user likely"}));
  EXPECT_TRUE(leaf_at(20_ms, 10_ms, 50_ms).object.slept);
  EXPECT_FALSE(leaf_at(49_ms, 10_ms, 50_ms).object.slept);
}

TEST_F(Walk, AHolderThatReadsASlowFileIsChargedToTheFile) {
  const auto file = b.file(1, "/data/1.jpg");
  waits(kMain).for_lock(kLock).woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 8_ms, 50_ms).reading(file);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.read proven"}));
  const auto read = leaf_at(20_ms, 10_ms, 50_ms);
  EXPECT_EQ(read.object.file, file);
  ASSERT_EQ(read.chain.size(), 2u);
  EXPECT_EQ(read.chain[0].nr, kFutexCall) << "the lock stays in the chain";
}

TEST_F(Walk, AHolderThatWaitsForTheCpuIsChargedToWhoeverRan) {
  waits(kMain).for_lock(kLock).woken_by(kWorker, kMain);
  b.runnable(kWorker, 5_ms, 8_ms, 50_ms, 1).on_cpu(1);
  b.slice(1, 8_ms, 50_ms, kOther, "hog");
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 cpu.contention proven"}));
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.pid, kOther);
}

TEST_F(Walk, AWorkerBehindAPlainWordIsNoLockHolder) {
  waits(kMain).for_word(kLock).woken_by(kWorker, kMain);
  b.running(kWorker, 5_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 cpu.busy proven"}));
}

TEST_F(Walk, AThreadThatTheHolderWaitsForDoesNotHoldTheLock) {
  waits(kMain).for_lock(kLock).woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 8_ms, 50_ms).on_pipe().woken_by(kThird, kMain);
  b.running(kThird, 5_ms, 60_ms);
  const auto leaf = leaf_at(20_ms, 10_ms, 50_ms);
  EXPECT_EQ(leaf.cause, Cause::kCpuBusy);
  EXPECT_EQ(leaf.object.tid, kThird);
}

TEST_F(Walk, APriorityInheritingFutexIsALockToo) {
  waits(kMain).in_call(kFutexCall, kLock, 6 | 0x80).woken_by(kWorker, kMain);
  b.running(kWorker, 5_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 lock.user proven"}));
}

TEST_F(Walk, SplitsAWaitForTheCpuByWhoRanThere) {
  b.runnable(kMain, 5_ms, 10_ms, 50_ms, 3);
  b.slice(3, 12_ms, 20_ms, kOther, "hog").slice(3, 25_ms, 30_ms, kOther + 1, "hog2");
  b.slice(2, 30_ms, 50_ms, kOther + 2, "elsewhere");
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..12 cpu.waiting proven", "12..20 cpu.contention proven",
                                        "20..25 cpu.waiting proven", "25..30 cpu.contention proven",
                                        "30..50 cpu.waiting proven"}));
  EXPECT_EQ(leaf_at(13_ms, 10_ms, 50_ms).object.pid, kOther);
  EXPECT_EQ(leaf_at(26_ms, 10_ms, 50_ms).object.pid, kOther + 1);
  EXPECT_EQ(leaf_at(11_ms, 10_ms, 50_ms).object.tid, kMain);
}

TEST_F(Walk, ClipsSlicesToTheWait) {
  b.runnable(kMain, 5_ms, 20_ms, 30_ms);
  b.running(kMain, 30_ms, 60_ms);
  b.slice(0, 1_ms, 90_ms, kOther, "hog");
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..20 cpu.busy proven", "20..30 cpu.contention proven",
                                        "30..50 cpu.busy proven"}));
}

TEST_F(Walk, BlamesItselfWhenItsOwnProcessRan) {
  constexpr Pid kSelf = 77;
  b.whystall_is(kSelf).runnable(kMain, 5_ms, 10_ms, 50_ms);
  b.slice(0, 10_ms, 20_ms, kSelf, "whystall").slice(0, 20_ms, 50_ms, kOther, "hog");
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..20 observer proven", "20..50 cpu.contention proven"}));
}

TEST_F(Walk, ItsHelperIsPartOfWhystall) {
  constexpr Pid kHelper = 78;
  b.raw().meta.helper_pid = kHelper;
  b.runnable(kMain, 5_ms, 10_ms, 50_ms).on_cpu(0);
  b.slice(0, 10_ms, 50_ms, kHelper, "whystall-nvml");
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 observer proven"}));
}

TEST_F(Walk, FollowsAWakeUpOverLoopbackButIsLessSure) {
  const auto file = b.file(1, "/data/1.jpg");
  waits(kMain).in_call(kPollCall, 0x1000, 1).woken_by(kWorker, kMain, WST_CTX_LOCALNET);
  b.blocked(kWorker, 5_ms, 8_ms, 50_ms).reading(file);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.read likely"}));
}

TEST_F(Walk, FollowsAWorkerInAnotherProcessThatWasRecorded) {
  const auto file = b.file(1, "/data/1.jpg");
  b.task(kOther, kOther, "loader");
  waits(kMain).on_pipe().woken_by(kOther, kOther);
  b.blocked(kOther, 5_ms, 8_ms, 50_ms).reading(file);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.read proven"}));
}

TEST_F(Walk, EndsAtAnotherProcessThatWasNotRecorded) {
  waits(kMain).on_pipe().woken_by(kOther, kOther);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 ipc.worker likely"}));
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.pid, kOther);
}

TEST_F(Walk, ASleepIsASleep) {
  waits(kMain).sleeping().woken_in(WST_CTX_TIMER);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 wait.sleep proven"}));
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.tid, kMain);
}

TEST_F(Walk, PollAndSelectOnNothingAreSleeps) {
  b.blocked(kMain, 5_ms, 10_ms, 30_ms).in_call(kPollCall, 0, 0).woken_in(WST_CTX_TIMER);
  b.blocked(kMain, 0, 30_ms, 50_ms).in_call(23, 0).woken_in(WST_CTX_TIMER);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..30 wait.sleep proven", "30..50 wait.sleep proven"}));
}

TEST_F(Walk, WaitsThatGoOnWithAnotherAreLikely) {
  b.blocked(kMain, 5_ms, 10_ms, 30_ms).for_word(kLock).woken_in(WST_CTX_TIMER);
  b.blocked(kMain, 30_ms, 30_ms + 50_us, 50_ms).for_word(kLock).woken_by(kWorker, kMain);
  b.running(kWorker, 5_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms),
            (Texts{"10..30+50000ns cpu.busy likely", "30+50000ns..50 cpu.busy proven"}));
}

TEST_F(Walk, MergingOneWaitDoesNotWeakenTheNext) {
  b.blocked(kMain, 5_ms, 10_ms, 20_ms).for_word(kLock).woken_in(WST_CTX_TIMER);
  b.blocked(kMain, 20_ms, 20_ms + 50_us, 30_ms).for_word(kLock).woken_by(kWorker, kMain);
  b.running(kMain, 30_ms, 60_ms);
  b.running(kWorker, 5_ms, 60_ms);
  EXPECT_EQ(texts(5_ms, 50_ms),
            (Texts{"5..10 cpu.busy proven", "10..20+50000ns cpu.busy likely",
                   "20+50000ns..30 cpu.busy proven", "30..50 cpu.busy proven"}));
}

TEST_F(Walk, ALikelyGapHasNoProvenCause) {
  waits(kMain).reading(b.file(1, "/data/1.jpg"));
  EXPECT_EQ(texts(10_ms, 50_ms, model::Confidence::kLikely), (Texts{"10..50 storage.read likely"}));
}

}  // namespace
}  // namespace whystall::walk
