// SPDX-License-Identifier: Apache-2.0
#include "capture/driver_watch.h"

#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <utility>

#include "capture/driver_api.h"
#include "target/exports.h"

namespace whystall::capture {

namespace {

/// Grows when a library is mapped, and is cheaper to read than the mappings.
std::string memory_size(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  std::string size;
  in >> size;
  return size;
}

}  // namespace

bool DriverWatch::look_at_one(pid_t pid) {
  if (with_.contains(pid)) return false;
  const std::string size = memory_size(pid);
  if (size.empty()) {  // it has ended
    without_.erase(pid);
    return false;
  }
  auto [known, fresh] = without_.try_emplace(pid, size);
  if (!fresh && known->second == size) return false;
  known->second = size;
  const auto library = target::find_driver_library(pid);
  if (!library) return false;
  struct stat file{};
  if (stat(library->open_path.c_str(), &file) != 0) return false;  // it has just ended
  auto process = target::look_up(pid);
  if (!process) return false;
  without_.erase(known);
  with_.insert(pid);
  processes_.push_back(std::move(*process));
  code_[pid] = library->code;
  if (shown_path_.empty()) shown_path_ = library->shown_path;
  found_.try_emplace({file.st_dev, file.st_ino}, library->open_path);
  return true;
}

bool DriverWatch::look_at(const std::vector<pid_t>& pids) {
  bool found = false;
  for (const pid_t pid : target::with_descendants(pids)) found |= look_at_one(pid);
  return found;
}

void DriverWatch::see(std::span<const std::byte> record) {
  wst_hdr header{};
  std::memcpy(&header, record.data(), sizeof header);
  if (header.kind != WST_TASK) return;
  wst_task task{};
  std::memcpy(static_cast<void*>(&task), record.data(), sizeof task);
  if (!(task.flags & WST_TASK_TARGET) || (task.flags & WST_TASK_KERNEL)) return;
  const auto pid = static_cast<pid_t>(task.tgid);
  // A new process of a number that had a library is looked at afresh.
  if ((task.flags & WST_TASK_BORN) && task.tid == task.tgid) with_.erase(pid);
  if (!with_.contains(pid)) without_.try_emplace(pid, "");
}

bool DriverWatch::look_again() {
  bool found = false;
  std::vector<pid_t> pids;
  for (const auto& [pid, size] : without_) pids.push_back(pid);
  for (const pid_t pid : pids) found |= look_at_one(pid);
  return found;
}

bool DriverWatch::refresh() {
  bool changed = false;
  for (target::Process& process : processes_) changed |= target::refresh(process);
  return changed;
}

Status DriverWatch::attach(Kernel& kernel) {
  for (auto& [file, path] : found_) {
    if (path.empty()) continue;
    auto exports = target::exported_functions(path);
    if (!exports) return exports.error();
    const auto probes = plan_api_probes(*exports);
    if (probes.empty()) {
      return Error{ErrorCode::kCannotTrace,
                   shown_path_ + " exports none of the driver calls that are watched"};
    }
    if (auto status = kernel.attach_api(path, probes, symbols_.size()); !status)
      return status.error();
    for (const ApiProbe& probe : probes) symbols_.push_back(probe.symbol);
    path.clear();
  }
  return Nothing{};
}

}  // namespace whystall::capture
