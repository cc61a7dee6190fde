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

InterpreterLocks::InterpreterLocks(const model::Recording& recording) {
  std::set<model::Pid> pythons;
  for (const auto* list : {&recording.meta.targets, &recording.meta.device_processes}) {
    for (const model::TargetProcess& process : *list) {
      if (is_python(process.comm) || is_python(process.command)) pythons.insert(process.pid);
    }
  }
  for (const auto& [tid, task] : recording.tasks) {
    if (tid == task.pid && is_python(task.comm)) pythons.insert(task.pid);
  }
  std::map<Word, int> counts;
  for (const wst_wait& wait : recording.waits) {
    if (ran_out_after_interval(wait) && pythons.contains(wait.tgid) &&
        ++counts[word_of(wait)] >= kLeast)
      locks_.insert(word_of(wait));
  }
}

bool InterpreterLocks::is_one(const wst_wait& wait) const {
  return wait.nr == WST_NR_FUTEX && locks_.contains(word_of(wait));
}

}  // namespace whystall::walk
