// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "model/recording.h"

namespace whystall::model {

/// Cause names are stable: they stand in JSON, metrics and documents.
enum class Cause {
  kStorageRead,
  kStorageFault,
  kStorageMetadata,
  kStorageWrite,
  kMemoryFault,
  kCpuContention,
  kCpuOversubscription,
  kCpuThrottled,
  kCpuStopped,
  kCpuWakeup,
  kCpuWaiting,
  kCpuBusy,
  kLockUser,
  kLockGil,
  kLockKernel,
  kIpcWorker,
  kIpcPipe,
  kIpcChild,
  kNetRemote,
  kWaitSleep,
  kWaitIdle,
  kWaitPolling,
  kGpuLaunch,
  kGpuSync,
  kGpuTransfer,
  kGpuAlloc,
  kGpuDriver,
  kObserver,
  kUnknown,
};

constexpr std::string_view cause_name(Cause cause) {
  constexpr std::array<std::string_view, 29> kNames = {
      "storage.read", "storage.fault",  "storage.metadata",     "storage.write",
      "memory.fault", "cpu.contention", "cpu.oversubscription", "cpu.throttled",
      "cpu.stopped",  "cpu.wakeup",     "cpu.waiting",          "cpu.busy",
      "lock.user",    "lock.gil",       "lock.kernel",          "ipc.worker",
      "ipc.pipe",     "ipc.child",      "net.remote",           "wait.sleep",
      "wait.idle",    "wait.polling",   "gpu.launch",           "gpu.sync",
      "gpu.transfer", "gpu.alloc",      "gpu.driver",           "observer",
      "unknown"};
  static_assert(kNames.size() == static_cast<std::size_t>(Cause::kUnknown) + 1);
  return kNames[static_cast<std::size_t>(cause)];
}

constexpr bool is_storage(Cause cause) {
  return cause >= Cause::kStorageRead && cause <= Cause::kStorageWrite;
}
constexpr bool is_lock(Cause cause) {
  return cause >= Cause::kLockUser && cause <= Cause::kLockKernel;
}

/// How a nanosecond's cause is known, best first. A: states and task-context edges complete, object
/// known. B: paired or merged. C: modelled. U: not known.
enum class Confidence { kProven, kLikely, kEstimated, kUnknown };

constexpr std::string_view confidence_name(Confidence confidence) {
  constexpr std::array<std::string_view, 4> kNames = {"proven", "likely", "estimated", "unknown"};
  return kNames[static_cast<std::size_t>(confidence)];
}

constexpr Confidence worse(Confidence a, Confidence b) {
  return a > b ? a : b;
}

/// Why nothing could be said.
enum class Reason {
  kNone,
  kNoRecord,      // the thread's states are not recorded there
  kNoWake,        // blocked, and no wake-up was seen
  kStillBlocked,  // the wait was not over when the window ended
  kMutualWait,    // two threads that wait for each other
  kTooDeep,       // the chain is longer than the walk goes
  kInterrupt,     // woken by a device's interrupt, object not decoded
  kTimeout,       // a timed wait ran out
  kKernelWorker,  // woken by a kernel thread, its work not decoded
  kStopped,       // stopped, traced or frozen
  kInsideRead,    // inside read(), but not for the file: a kernel lock or memory
  kPageFault,
};

constexpr std::string_view reason_text(Reason reason) {
  constexpr std::array<std::string_view, 12> kTexts = {"",
                                                       "no record of the thread",
                                                       "no wake-up seen",
                                                       "still blocked at the end",
                                                       "mutual wait",
                                                       "chain too deep",
                                                       "device interrupt",
                                                       "timed wait ran out",
                                                       "kernel worker",
                                                       "stopped or traced",
                                                       "kernel lock or memory inside read()",
                                                       "page fault"};
  return kTexts[static_cast<std::size_t>(reason)];
}

/// How one thread of a chain waited for the next: the system call and the kind of what it waited
/// on.
struct Hop {
  Tid tid = 0;
  std::int32_t nr = -1;  // -1: on the CPU or runnable
  std::uint8_t file_kind = WST_FILE_NONE;
  /// Of the wait, or of the run: within the one before, and within the part of the gap that was
  /// walked at once.
  Interval at;
  std::uint64_t lock = 0;  // the lock that it waited for, which the next one held; 0: none
};

constexpr std::uint16_t kNoSymbol = 0xffff;

/// What a leaf names. Which fields count depends on the cause.
struct Object {
  FileKey file = {};          // storage.*
  std::uint64_t address = 0;  // lock.user, lock.gil: the futex word
  std::uint64_t ino = 0;      // ipc.pipe, net.remote: the pipe or socket; 0: not known
  Tid tid = 0;                // lock.*: the holder; else the thread
  /// The process of that thread. cpu.contention, cpu.oversubscription: who ran; ipc.*: whom it
  /// waited for; cpu.stopped: who let it go on.
  Pid pid = 0;
  bool slept = false;                // lock.*: the holder slept (otherwise it computed)
  std::uint16_t symbol = kNoSymbol;  // gpu.*: the driver's call, by Meta::api_symbols
  std::uint32_t command = 0;         // gpu.driver: of the ioctl
  std::uint32_t rdev = 0;            // gpu.driver: the device file, kernel encoding
  Reason reason = Reason::kNone;
  auto operator<=>(const Object&) const = default;
};

/// A piece of a gap and the one cause it is charged to.
struct Leaf {
  Interval at;
  Cause cause = Cause::kUnknown;
  Confidence confidence = Confidence::kUnknown;
  Object object;
  std::vector<Hop> chain;  // from the thread whose launch ended the gap to the one the leaf lies in
  /// Charged to what its thread did before, for which it came late; then what the chain tells is of
  /// that time, and `at` tells how much of the gap it is, and not when it was.
  bool lineage = false;
};

}  // namespace whystall::model
