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
  kLockUser,
  kCpuContention,
  kCpuThrottled,
  kCpuWaiting,
  kCpuBusy,
  kIpcWorker,
  kWaitSleep,
  kWaitIdle,
  kWaitPolling,
  kGpuLaunch,
  kGpuSync,
  kGpuTransfer,
  kGpuAlloc,
  kObserver,
  kUnknown,
};

constexpr std::string_view cause_name(Cause cause) {
  constexpr std::array<std::string_view, 16> kNames = {
      "storage.read", "lock.user",  "cpu.contention", "cpu.throttled", "cpu.waiting", "cpu.busy",
      "ipc.worker",   "wait.sleep", "wait.idle",      "wait.polling",  "gpu.launch",  "gpu.sync",
      "gpu.transfer", "gpu.alloc",  "observer",       "unknown"};
  return kNames[static_cast<std::size_t>(cause)];
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
};

constexpr std::uint16_t kNoSymbol = 0xffff;

/// What a leaf names. Which fields count depends on the cause.
struct Object {
  FileKey file = {};          // storage.read
  std::uint64_t address = 0;  // lock.user: the futex word
  Tid tid = 0;                // lock.user: the holder; cpu.busy, wait.sleep: the thread
  Pid pid =
      0;  // the process of that thread; cpu.contention: who ran; ipc.worker: whom it waited for
  bool slept = false;                // lock.user: the holder slept (otherwise it computed)
  std::uint16_t symbol = kNoSymbol;  // gpu.*: the driver's call, by Meta::api_symbols
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
};

}  // namespace whystall::model
