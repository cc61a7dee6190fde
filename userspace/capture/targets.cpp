// SPDX-License-Identifier: Apache-2.0
#include "capture/targets.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "target/find.h"

namespace whystall::capture {

namespace {

/// The kernel side keeps as many.
constexpr std::size_t kMaxTargets = 8192;
/// Their names are read again each second.
constexpr std::size_t kMaxRefreshed = 64;

}  // namespace

Status TargetSet::add(pid_t pid) {
  auto process = target::look_up(pid);
  if (!process) return process.error();
  Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid())
    return Error{ErrorCode::kTargetGone, "process " + std::to_string(pid) + " has just ended"};
  targets_.push_back({std::move(*process), std::move(pidfd)});
  return Nothing{};
}

Result<std::vector<pid_t>> TargetSet::named_by_spec() const {
  std::vector<pid_t> pids;
  if (!spec_.cgroup.empty()) {
    auto found = target::processes_of_cgroup(spec_.cgroup);
    if (!found) return found.error();
    pids = std::move(*found);
  }
  if (!spec_.comm.empty()) {
    for (const pid_t pid : target::processes_named(spec_.comm)) pids.push_back(pid);
  }
  return pids;
}

Result<TargetSet> TargetSet::open(const TargetSpec& spec) {
  TargetSet set(spec);
  for (const pid_t pid : spec.pids) {
    if (auto status = set.add(pid); !status) return status.error();
  }
  auto named = set.named_by_spec();
  if (!named) return named.error();
  for (const pid_t pid : *named) {
    // One that ends while it is looked at was never there.
    if (set.targets_.size() < kMaxTargets) (void)set.add(pid);
  }
  if (set.targets_.empty()) {
    return Error{ErrorCode::kCannotTrace,
                 spec.cgroup.empty() ? "no process is called '" + spec.comm + "'"
                                     : "there is no process in the control group " + spec.cgroup};
  }
  return set;
}

std::vector<pid_t> TargetSet::find_new() {
  std::vector<pid_t> added;
  if (!open_ended()) return added;
  auto named = named_by_spec();
  if (!named) return added;  // the group is gone
  for (const pid_t pid : *named) {
    const bool known = std::any_of(targets_.begin(), targets_.end(), [&](const Target& t) {
      return t.process.pid == pid && !ended(t);
    });
    if (known) continue;
    if (targets_.size() < kMaxTargets && add(pid)) added.push_back(pid);
  }
  return added;
}

bool TargetSet::refresh() {
  bool changed = false;
  for (std::size_t i = 0; i < std::min(targets_.size(), kMaxRefreshed); i++) {
    if (!ended(targets_[i])) changed |= target::refresh(targets_[i].process);
  }
  return changed;
}

bool TargetSet::ended(const Target& target) {
  pollfd fd{target.pidfd.get(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1 && fd.revents != 0;
}

bool TargetSet::all_ended(int timeout_ms) {
  while (first_living_ < targets_.size() && ended(targets_[first_living_])) first_living_++;
  if (first_living_ == targets_.size()) return true;
  if (timeout_ms == 0) return false;
  pollfd fd{targets_[first_living_].pidfd.get(), POLLIN, 0};
  poll(&fd, 1, timeout_ms);
  return false;
}

std::vector<pid_t> TargetSet::pids() const {
  std::vector<pid_t> pids;
  for (const Target& t : targets_) pids.push_back(t.process.pid);
  return pids;
}

std::vector<target::Process> TargetSet::processes() const {
  std::vector<target::Process> processes;
  for (const Target& t : targets_) processes.push_back(t.process);
  return processes;
}

}  // namespace whystall::capture
