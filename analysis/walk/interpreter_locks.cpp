// SPDX-License-Identifier: Apache-2.0
#include "walk/interpreter_locks.h"

#include <string_view>

#include "abi/syscalls.h"

namespace whystall::walk {

using model::DurationNs;

namespace {

/// The interpreter's switch interval, and how late a timer may end a wait of that length.
constexpr DurationNs kIntervalNs = 5'000'000;
constexpr DurationNs kEarlyNs = 50'000;
constexpr DurationNs kLateNs = 500'000;
/// One wait of that length may be chance.
constexpr int kLeast = 2;
/// Of a recording that lies; an interpreter has one.
constexpr std::size_t kMostWords = 100'000;

bool ran_out_after_interval(const wst_wait& wait) {
  if (wait.nr != WST_NR_FUTEX || !(wait.flags & WST_WAIT_WOKEN) ||
      wait.waker_context != WST_CTX_TIMER || wait.wake_ns < wait.out_ns)
    return false;
  const auto length = static_cast<DurationNs>(wait.wake_ns - wait.out_ns);
  return length >= kIntervalNs - kEarlyNs && length <= kIntervalNs + kLateNs;
}

bool is_python(std::string_view name) {
  return name.find("python") != std::string_view::npos;
}

}  // namespace

InterpreterLocks::Word InterpreterLocks::word_of(const wst_wait& wait) {
  return {wait.tgid, wait.args[0] & ~std::uint64_t{7}};
}

void InterpreterLocks::see(const model::Recording& records) {
  for (const wst_wait& wait : records.waits) {
    if (!ran_out_after_interval(wait)) continue;
    const auto known = expired_.find(word_of(wait));
    if (known != expired_.end())
      known->second++;
    else if (expired_.size() < kMostWords)
      expired_[word_of(wait)] = 1;
  }
}

void InterpreterLocks::finish(const model::Recording& recording) {
  std::set<model::Pid> pythons;
  for (const auto* list : {&recording.meta.targets, &recording.meta.device_processes}) {
    for (const model::TargetProcess& process : *list) {
      if (is_python(process.comm) || is_python(process.command)) pythons.insert(process.pid);
    }
  }
  for (const auto& [tid, task] : recording.tasks) {
    if (tid == task.pid && is_python(task.comm)) pythons.insert(task.pid);
  }
  for (const auto& [word, count] : expired_) {
    if (count >= kLeast && pythons.contains(word.pid)) locks_.insert(word);
  }
}

bool InterpreterLocks::is_one(const wst_wait& wait) const {
  return wait.nr == WST_NR_FUTEX && locks_.contains(word_of(wait));
}

}  // namespace whystall::walk
