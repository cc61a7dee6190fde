// SPDX-License-Identifier: Apache-2.0
// Where the walk must stop and say that it does not know.
#include "support/walked.h"

namespace whystall::walk {
namespace {

using namespace testing;
using model::Cause;
using model::Reason;

class WalkStops : public WalkTest {
 protected:
  WaitRef main_waits() { return b.blocked(kMain, 5_ms, 10_ms, 50_ms); }
  /// A worker that a false step would be charged to.
  void worker_reads() { b.blocked(kWorker, 5_ms, 8_ms, 55_ms).reading(b.file(1, "/data/1.jpg")); }
};

TEST_F(WalkStops, NeverFollowsATaskThatAnInterruptBroke) {
  for (const std::uint8_t context : {WST_CTX_SOFTIRQ, WST_CTX_HARDIRQ}) {
    b = RecordingBuilder();
    worker_reads();
    main_waits().on_pipe().woken_by(kWorker, kMain, context);
    EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: device interrupt"}));
  }
}

TEST_F(WalkStops, NeverFollowsATaskThatATimerBroke) {
  worker_reads();
  main_waits().on_pipe().woken_by(kWorker, kMain, WST_CTX_TIMER);
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).cause, Cause::kUnknown);
}

TEST_F(WalkStops, DoesNotFollowAContextOfANewerVersion) {
  worker_reads();
  main_waits().on_pipe().woken_by(kWorker, kMain, 99);
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).cause, Cause::kUnknown);
}

TEST_F(WalkStops, ATimedWaitThatRanOutIsASleepAtBest) {
  for (const std::int32_t nr : {kFutexCall, kPollCall, kEpollWaitCall}) {
    b = RecordingBuilder();
    main_waits().in_call(nr, 0x1000, 1).woken_in(WST_CTX_TIMER);
    EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 wait.sleep estimated"})) << nr;
  }
}

TEST_F(WalkStops, AtAKernelThread) {
  b.task(9, 9, "kworker/0:1", true);
  b.running(9, 5_ms, 60_ms);
  main_waits().on_pipe().woken_by(9, 9);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: kernel worker"}));
}

TEST_F(WalkStops, AtAPageFault) {
  main_waits().woken_in(WST_CTX_SOFTIRQ);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: page fault"}));
}

TEST_F(WalkStops, AtAThreadThatWasStopped) {
  worker_reads();
  main_waits().on_pipe().flag(WST_WAIT_FREEZE).woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 cpu.stopped proven"}));
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.pid, kMain);  // who let it go on
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.tid, kMain);
}

TEST_F(WalkStops, AtAWaitThatIsNotOver) {
  main_waits().on_pipe().flag(WST_WAIT_OPEN);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: still blocked at the end"}));
}

TEST_F(WalkStops, AtAWaitWithoutAWakeUp) {
  main_waits().on_pipe();
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: no wake-up seen"}));
}

TEST_F(WalkStops, AtAThreadThatWokeItself) {
  main_waits().on_pipe().woken_by(kMain, kMain);
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.reason, Reason::kNoWake);
}

TEST_F(WalkStops, AtAThreadWithoutAnyRecord) {
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: no record of the thread"}));
}

TEST_F(WalkStops, AtASiblingWithoutAnyRecord) {
  main_waits().on_pipe().woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: no record of the thread"}));
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.tid, kWorker);
}

TEST_F(WalkStops, AtHolesAndOnlyThere) {
  b.running(kMain, 12_ms, 20_ms);
  b.running(kMain, 30_ms, 45_ms);
  EXPECT_EQ(texts(10_ms, 50_ms),
            (Texts{"10..12 unknown: no record of the thread", "12..20 cpu.busy proven",
                   "20..30 unknown: no record of the thread", "30..45 cpu.busy proven",
                   "45..50 unknown: no record of the thread"}));
}

TEST_F(WalkStops, AtTheHoleOfAWorkerAndGoesOnBeforeIt) {
  main_waits().on_pipe().woken_by(kWorker, kMain);
  b.running(kWorker, 5_ms, 30_ms);
  b.running(kWorker, 40_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms),
            (Texts{"10..30 cpu.busy proven", "30..40 unknown: no record of the thread",
                   "40..50 cpu.busy proven"}));
}

TEST_F(WalkStops, AtTwoThreadsThatWaitForEachOther) {
  main_waits().on_pipe().woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 20_ms, 40_ms).on_pipe().woken_by(kMain, kMain);
  b.running(kWorker, 40_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..20 cpu.busy proven", "20..40 unknown: mutual wait",
                                        "40..50 cpu.busy proven"}));
}

TEST_F(WalkStops, AtACycleOfThree) {
  main_waits().on_pipe().woken_by(kWorker, kMain);
  b.blocked(kWorker, 5_ms, 8_ms, 50_ms).on_pipe().woken_by(kThird, kMain);
  b.blocked(kThird, 5_ms, 8_ms, 50_ms).on_pipe().woken_by(kMain, kMain);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: mutual wait"}));
}

TEST_F(WalkStops, AfterSixteenHops) {
  constexpr Tid kThreads = 30;
  for (Tid i = 0; i < kThreads; i++) {
    b.task(kMain + i, kMain, "stage");
    b.blocked(kMain + i, 5_ms, 9_ms, 51_ms).on_pipe().woken_by(kMain + i + 1, kMain);
  }
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: chain too deep"}));
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).chain.size(), 16u);
}

TEST_F(WalkStops, NotBeforeSixteenThreads) {
  constexpr Tid kThreads = 16;
  for (Tid i = 0; i < kThreads; i++) {
    b.task(kMain + i, kMain, "stage");
    auto wait = b.blocked(kMain + i, 5_ms, 9_ms, 51_ms);
    if (i + 1 < kThreads)
      wait.on_pipe().woken_by(kMain + i + 1, kMain);
    else
      wait.sleeping();
  }
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 wait.sleep proven"}));
}

TEST_F(WalkStops, AtAReadThatDidNotWaitForTheFile) {
  const auto file = b.file(1, "/data/1.jpg", "ext4");
  worker_reads();
  main_waits().reading_without_iowait(file).woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: kernel lock or memory inside read()"}));
}

TEST_F(WalkStops, NotAtAReadFromAServedFileSystem) {
  for (const char* fs : {"fuse", "fuse.sshfs", "nfs", "nfs4", "cifs", "9p", "virtiofs", "ceph"}) {
    b = RecordingBuilder();
    const auto file = b.file(1, "/mnt/1.jpg", fs);
    main_waits().reading_without_iowait(file).woken_by(kOther, kOther);
    EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.read likely"})) << fs;
    EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.file, file) << fs;
  }
}

TEST_F(WalkStops, NotAtAFileWhoseNameWasLost) {
  main_waits().reading({99, 8, 1});
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.read likely"}));
}

TEST_F(WalkStops, AtADescriptorThatChangedItsFile) {
  const auto file = b.file(1, "/data/1.jpg");
  main_waits().reading(file).flag(WST_WAIT_NO_FILE).woken_in(WST_CTX_SOFTIRQ);
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).cause, Cause::kUnknown);
}

TEST_F(WalkStops, AtAWriteToAFile) {
  const auto file = b.file(1, "/data/1.jpg");
  main_waits().reading(file).in_call(1).woken_in(WST_CTX_SOFTIRQ);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.write proven"}));
  EXPECT_EQ(leaf_at(20_ms, 10_ms, 50_ms).object.file, file);
}

}  // namespace
}  // namespace whystall::walk
