// SPDX-License-Identifier: Apache-2.0
//
// Causes that one rule of the walk finds each, and what looks alike and is another.
#include "support/walked.h"

namespace whystall::walk {
namespace {

using namespace testing;
using model::Cause;
using model::Confidence;
using model::Reason;

constexpr std::int32_t kWriteCall = 1, kIoctlCall = 16, kWait4Call = 61, kFsyncCall = 74,
                       kOpenatCall = 257;
constexpr std::uint64_t kWord = 0x7f00'0000'1028;

class WalkCauses : public WalkTest {
 protected:
  /// Main waits from 10 to 50 ms for whoever the result says.
  WaitRef main_waits() { return b.blocked(kMain, 5_ms, 10_ms, 50_ms); }
  model::Leaf leaf() const { return leaf_at(30_ms, 10_ms, 50_ms); }

  WaitRef polls(TimeNs lo, TimeNs hi) {
    auto wait = b.blocked(kMain, lo - 20_us, lo, hi).on_pipe();
    b.raw().waits.back().ino = 77;
    return wait.in_call(kPollCall, 0x1000, 1);
  }

  void end(Pid pid, std::uint64_t ino, std::uint32_t flags) {
    wst_end e{};
    e.ino = ino;
    e.tgid = pid;
    e.file_kind = WST_FILE_PIPE;
    e.flags = flags;
    b.raw().ends.push_back(e);
  }
};

TEST_F(WalkCauses, OwnThreadsOnTheCpuAreOversubscription) {
  b.task(200, 200, "helper");  // another process that is watched
  b.runnable(kMain, 5_ms, 10_ms, 50_ms);
  b.slice(0, 10_ms, 20_ms, kMain, "main").slice(0, 20_ms, 30_ms, 200, "helper");
  b.slice(0, 30_ms, 40_ms, kOther, "neighbour");
  EXPECT_EQ(texts(10_ms, 50_ms),
            (Texts{"10..20 cpu.oversubscription proven", "20..30 cpu.oversubscription proven",
                   "30..40 cpu.contention proven", "40..50 cpu.waiting proven"}));
  EXPECT_EQ(leaf_at(15_ms, 10_ms, 50_ms).object.pid, kMain);
}

TEST_F(WalkCauses, WhoIsPreemptedByTheOneItAsksAlreadyWaits) {
  b.running(kWorker, 5_ms, 60_ms);
  b.runnable(kMain, 5_ms, 10_ms, 30_ms);
  b.slice(0, 10_ms, 20_ms, kMain, "main").slice(0, 20_ms, 30_ms, kOther, "neighbour");
  b.blocked(kMain, 30_ms, 30_ms + 20_us, 50_ms).on_pipe().woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 30_ms), (Texts{"10..20 cpu.busy likely", "20..30 cpu.contention proven"}));
  EXPECT_EQ(tids(leaf_at(15_ms, 10_ms, 30_ms)), (std::vector{kMain, kWorker}));
}

TEST_F(WalkCauses, WhoHasWorkToDoBeforeItWaitsLostTheCpu) {
  b.running(kWorker, 5_ms, 60_ms);
  b.runnable(kMain, 5_ms, 10_ms, 30_ms);
  b.slice(0, 10_ms, 30_ms, kMain, "main");
  b.blocked(kMain, 30_ms, 31_ms, 50_ms).on_pipe().woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 30_ms), (Texts{"10..30 cpu.oversubscription proven"}));
}

TEST_F(WalkCauses, AMappedFileIsNamed) {
  const auto file = b.file(1, "/data/weights.bin");
  main_waits().reading(file).in_call(kNoCall).flag(WST_WAIT_FAULT).woken_in(WST_CTX_SOFTIRQ);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.fault proven"}));
  EXPECT_EQ(leaf().object.file, file);
}

TEST_F(WalkCauses, APageOfAFileOrOfSwapIsAMemoryFault) {
  main_waits().flag(WST_WAIT_IOWAIT).woken_in(WST_CTX_SOFTIRQ);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 memory.fault likely"}));
}

TEST_F(WalkCauses, ASyncIsForTheFileUnlessATaskHeldItUp) {
  const auto file = b.file(1, "/data/model.ckpt");
  b.task(9, 9, "jbd2/sda1-8", true);
  main_waits().reading_without_iowait(file).in_call(kFsyncCall, 3).woken_by(9, 9);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.write likely"}));
  EXPECT_EQ(leaf().object.file, file);

  b = RecordingBuilder();
  b.task(kMain, kMain, "main").task(kWorker, kMain, "worker").file(1, "/data/model.ckpt");
  b.running(kWorker, 5_ms, 60_ms);
  main_waits()
      .reading_without_iowait(file)
      .in_call(kFsyncCall, 3)
      .uninterruptible()
      .woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 lock.kernel likely"}));
  EXPECT_EQ(leaf().object.tid, kWorker);
}

TEST_F(WalkCauses, OpeningAFileIsMetadata) {
  main_waits().in_call(kOpenatCall).flag(WST_WAIT_IOWAIT).woken_in(WST_CTX_SOFTIRQ);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.metadata proven"}));

  b = RecordingBuilder();  // the daemon of a file system, not a lock of the kernel
  b.task(kMain, kMain, "main").task(kWorker, kMain, "worker");
  b.running(kWorker, 5_ms, 60_ms);
  main_waits().in_call(kOpenatCall).woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 storage.metadata likely"}));

  b = RecordingBuilder();
  b.task(kMain, kMain, "main").task(kWorker, kMain, "worker");
  b.running(kWorker, 5_ms, 60_ms);
  main_waits().in_call(kOpenatCall).uninterruptible().woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 lock.kernel likely"}));
}

TEST_F(WalkCauses, AFaultThatWaitsForTheAddressSpaceIsAKernelLock) {
  main_waits().uninterruptible().woken_by(kWorker, kMain);
  b.running(kWorker, 5_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 lock.kernel likely"}));
}

TEST_F(WalkCauses, AWaitByDesignIsNoKernelLock) {
  for (const std::int32_t nr : {kFutexCall, kWait4Call}) {
    b = RecordingBuilder();
    b.task(kMain, kMain, "main").task(kWorker, kMain, "worker");
    main_waits().in_call(nr, kWord).uninterruptible().woken_by(kWorker, kMain);
    b.running(kWorker, 5_ms, 60_ms);
    EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 cpu.busy proven"})) << nr;
  }
}

TEST_F(WalkCauses, AChildWhosePastIsNotRecordedIsNamed) {
  main_waits().in_call(kWait4Call).woken_by(kOther, kOther);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 ipc.child likely"}));
  EXPECT_EQ(leaf().object.pid, kOther);
}

TEST_F(WalkCauses, AFullPipeNamesWhoDoesNotRead) {
  main_waits().on_pipe(kWriteCall).flag(WST_WAIT_OPEN);
  b.raw().waits.back().ino = 77;
  end(kMain, 77, WST_END_WRITES);
  end(kMain, 77, WST_END_READS);  // an inherited end of its own is not the reader
  end(kOther, 77, WST_END_READS);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 ipc.pipe proven"}));
  EXPECT_EQ(leaf().object.pid, kOther);
  EXPECT_EQ(leaf().object.ino, 77u);

  end(301, 77, WST_END_READS);
  EXPECT_EQ(leaf().object.pid, 0u) << "which of two readers does not read is not known";
}

TEST_F(WalkCauses, APacketFromAnotherHostIsRemote) {
  main_waits().on_socket(55, 45).in_softirq(3);
  wst_end e{};
  e.ino = 55;
  e.tgid = kMain;
  e.file_kind = WST_FILE_INET;
  e.family = 2;
  e.local_port = 40000;
  e.remote_port = 2049;
  e.local_address[0] = 10;
  e.remote_address[0] = 10;
  e.remote_address[3] = 7;
  b.raw().ends.push_back(e);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 net.remote likely"}));
  EXPECT_EQ(leaf().object.ino, 55u);

  b.raw().ends.back().remote_address[0] = 127;
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 unknown: device interrupt"}));
}

TEST_F(WalkCauses, AnIoctlOfADeviceIsTheDriver) {
  main_waits().in_call(kIoctlCall, 5, 0xc020462a).woken_in(WST_CTX_HARDIRQ);
  b.raw().waits.back().file_kind = WST_FILE_CHAR;
  b.raw().waits.back().rdev = 195u << 20 | 255;
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 gpu.driver likely"}));
  EXPECT_EQ(leaf().object.command, 0xc020462a);
  EXPECT_EQ(leaf().object.rdev, 195u << 20 | 255);
}

/// A thread that wants the lock of the interpreter: 5 ms on one word of the condition, then on the
/// other, and so on until the holder lets go at 52 ms.
class WalkGil : public WalkCauses {
 protected:
  void wants_lock(Tid tid, std::string_view name) {
    b.task(kMain, kMain, std::string(name));
    TimeNs ran = 9_ms, at = 10_ms;
    std::uint64_t word = kWord;
    for (; at < 50_ms; at += 5_ms + 100_us, word ^= 4) {
      b.blocked(tid, ran, at, at + 5_ms + 60_us).for_word(word).woken_in(WST_CTX_TIMER);
      ran = at + 5_ms + 60_us;
    }
    b.blocked(tid, ran, at, 52_ms).for_word(word).woken_by(kWorker, kMain);
    b.running(tid, 52_ms, 60_ms);
    b.running(kWorker, 1_ms, 60_ms);
  }
};

TEST_F(WalkGil, IsNamedWithItsHolder) {
  wants_lock(kMain, "python3");
  EXPECT_EQ(texts(10_ms, 52_ms),
            (Texts{"10..50+800000ns lock.gil likely", "50+800000ns..52 lock.gil likely"}));
  EXPECT_EQ(leaf_at(30_ms, 10_ms, 52_ms).object.tid, kWorker);
}

TEST_F(WalkGil, IsNotNamedInAnotherProgram) {
  wants_lock(kMain, "server");
  EXPECT_EQ(texts(10_ms, 52_ms),
            (Texts{"10..50+800000ns cpu.busy likely", "50+800000ns..52 cpu.busy proven"}));
}

/// Main spins from 10 to 50 ms until the worker, which reads, lets it go on.
class WalkBarrier : public WalkCauses {
 protected:
  void spins(Tid tid, TimeNs lo, TimeNs hi) {
    b.running(tid, lo, hi);
    for (TimeNs at = lo + 1_ms; at < hi; at += 10_ms) {
      b.sample(at, tid);
      b.raw().samples.back().flags = WST_SAMPLE_PAUSE;
    }
  }
};

TEST_F(WalkBarrier, IsTheBusinessOfTheOneThatCameLate) {
  const auto file = b.file(1, "/data/1.jpg");
  spins(kMain, 5_ms, 60_ms);
  spins(kThird, 5_ms, 60_ms);
  b.blocked(kWorker, 5_ms, 10_ms, 48_ms).reading(file).woken_in(WST_CTX_SOFTIRQ);
  b.running(kWorker, 48_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms),
            (Texts{"10..48 storage.read estimated", "48..50 cpu.busy estimated"}));
  EXPECT_EQ(tids(leaf()), (std::vector{kMain, kWorker}));
}

TEST_F(WalkBarrier, IsOnlyPollingWhenTwoMayHaveBeenLate) {
  spins(kMain, 5_ms, 60_ms);
  b.running(kWorker, 5_ms, 60_ms);
  b.running(kThird, 5_ms, 60_ms);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 wait.polling estimated"}));
}

TEST_F(WalkBarrier, IsNotTheBusinessOfAThreadThatSleptThroughIt) {
  spins(kMain, 5_ms, 60_ms);
  b.blocked(kWorker, 1_ms, 2_ms, 59_ms).sleeping();
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 wait.polling estimated"}));
}

/// Samples of a thread that gives its CPU away in a loop: within the call, in the C library's stub
/// of it, and in the loop itself.
struct WalkYields : WalkBarrier {
  static constexpr std::uint64_t kLoop = 0x1000, kStub = 0x7f001000;

  wst_sample& sample(TimeNs at, std::uint64_t ip, std::uint64_t top = 0) {
    b.sample(at, kMain);
    auto& sample = b.raw().samples.back();
    sample.ip = ip;
    sample.top = top;
    return sample;
  }
  void yield(TimeNs at) {
    auto& inside = sample(at, kLoop);
    inside.nr = WST_NR_SCHED_YIELD;
    inside.stub_ip = kStub;
  }
  void worker_works() {
    b.running(kMain, 5_ms, 60_ms);
    b.running(kWorker, 5_ms, 60_ms);
    b.blocked(kThird, 1_ms, 2_ms, 59_ms).sleeping();
  }
};

TEST_F(WalkYields, ASampleInTheStubOfTheCallIsNoWork) {
  worker_works();
  yield(9_ms);
  for (TimeNs at = 20_ms; at < 60_ms; at += 10_ms) sample(at, kStub - 7, kLoop);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..50 cpu.busy estimated"}));
  EXPECT_EQ(tids(leaf()), (std::vector{kMain, kWorker}));
}

TEST_F(WalkYields, ASampleFarFromTheStubIsWork) {
  worker_works();
  yield(1_ms);
  for (TimeNs at = 11'500'000; at < 60_ms; at += 10_ms) sample(at, kStub - 64, kLoop);
  EXPECT_EQ(texts(20_ms, 50_ms), (Texts{"20..50 cpu.busy proven"}));
  EXPECT_EQ(tids(leaf()), (std::vector{kMain}));
}

TEST_F(WalkYields, ThoseOfTheDriverAreLeftOut) {
  worker_works();
  b.raw().meta.device_processes.push_back({});
  auto& process = b.raw().meta.device_processes.back();
  process.pid = b.raw().tasks.at(kMain).pid;
  process.driver_code = {{0x2000, 0x3000}};
  yield(9_ms);
  for (TimeNs at = 9'500'000; at < 60_ms; at += 10_ms) sample(at, kStub + 2, 0x2100);
  yield(19_ms);
  // The one outside of the driver speaks for the time around it.
  EXPECT_EQ(texts(10_ms, 20_ms), (Texts{"10..20 cpu.busy estimated"}));
  EXPECT_EQ(tids(leaf_at(15_ms, 10_ms, 20_ms)), (std::vector{kMain, kWorker}));
  EXPECT_EQ(texts(40_ms, 50_ms), (Texts{"40..50 cpu.busy proven"}));
  EXPECT_EQ(tids(leaf_at(45_ms, 40_ms, 50_ms)), (std::vector{kMain}));
}

TEST_F(WalkCauses, ATimedPollThatIsTriedAgainIsOneWait) {
  b.running(kWorker, 5_ms, 60_ms);
  for (TimeNs at = 10_ms; at < 40_ms; at += 10_ms) {
    polls(at, at + 9_ms + 980_us).woken_in(WST_CTX_TIMER);
  }
  polls(40_ms, 50_ms).woken_by(kWorker, kMain);
  EXPECT_EQ(texts(10_ms, 50_ms), (Texts{"10..40 cpu.busy likely", "40..50 cpu.busy proven"}));
}

}  // namespace
}  // namespace whystall::walk
