// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "target/process.h"

namespace whystall::capture {

/// Which processes to watch; all that is given adds up.
struct TargetSpec {
  std::vector<pid_t> pids;
  std::string cgroup;  // path; empty: none
  std::string comm;    // command name; empty: none
};

/// The processes that are watched, each held by a descriptor, so that a number that is used again
/// is not mistaken for it. Their threads and children are the kernel side's affair.
class TargetSet {
 public:
  /// Error: cannot trace or target gone, with the first process that is not there.
  static Result<TargetSet> open(const TargetSpec& spec);

  /// Those that have come into the control group, or got the command name, since the last look.
  std::vector<pid_t> find_new();

  /// Reads again what the living ones among the first 64 are called: a command begins under its
  /// starter's name. Returns whether something has changed.
  bool refresh();

  /// Says whether all have ended; if not, waits for up to `timeout_ms`, or for one of them to end.
  bool all_ended(int timeout_ms);

  std::vector<pid_t> pids() const;
  const target::Process& first() const { return targets_.front().process; }
  std::vector<target::Process> processes() const;
  /// Processes may join later.
  bool open_ended() const { return !spec_.cgroup.empty() || !spec_.comm.empty(); }

 private:
  struct Target {
    target::Process process;
    Fd pidfd;
  };

  explicit TargetSet(TargetSpec spec) : spec_(std::move(spec)) {}
  Status add(pid_t pid);
  static bool ended(const Target& target);
  Result<std::vector<pid_t>> named_by_spec() const;

  TargetSpec spec_;
  std::vector<Target> targets_;
  std::size_t first_living_ = 0;  // all before it have ended
};

}  // namespace whystall::capture
