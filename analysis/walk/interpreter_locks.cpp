// SPDX-License-Identifier: Apache-2.0
#include "walk/interpreter_locks.h"

#include <string_view>

#include "abi/syscalls.h"

namespace whystall::walk {

namespace {

/// One wait of that length may be chance.
constexpr std::uint64_t kLeast = 2;

bool is_python(std::string_view name) {
  return name.find("python") != std::string_view::npos;
}

}  // namespace

InterpreterLocks::InterpreterLocks(const model::Recording& recording,
                                   const model::ExpiredWaits& expired) {
  std::set<model::Pid> pythons;
  for (const auto* list : {&recording.meta.targets, &recording.meta.device_processes}) {
    for (const model::TargetProcess& process : *list) {
      if (is_python(process.comm) || is_python(process.command)) pythons.insert(process.pid);
    }
  }
  for (const auto& [tid, task] : recording.tasks) {
    if (tid == task.pid && is_python(task.comm)) pythons.insert(task.pid);
  }
  for (const auto& [word, count] : expired.counts()) {
    if (count >= kLeast && pythons.contains(word.pid)) locks_.insert(word);
  }
}

bool InterpreterLocks::is_one(const wst_wait& wait) const {
  return wait.nr == WST_NR_FUTEX && locks_.contains(model::ExpiredWaits::word_of(wait));
}

}  // namespace whystall::walk
