// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capture/kernel.h"
#include "target/process.h"

namespace whystall::capture {

/// Finds the accelerator's driver library in the watched processes, also when one loads it late,
/// and probes each library once.
class DriverWatch {
 public:
  /// Looks at these processes and what descends from them. Returns whether a library was found.
  bool look_at(const std::vector<pid_t>& pids);

  /// Looks at a record on its way to the file: the kernel side tells of every watched process.
  void see(std::span<const std::byte> record);
  /// Looks again at the watched processes that have no library yet and whose memory has changed.
  /// Returns whether there is something new.
  bool look_again();

  /// Reads again what the living processes are called. Returns whether something has changed.
  bool refresh();

  /// Probes the libraries that were found and have no probes yet. Error: cannot trace.
  Status attach(Kernel& kernel);

  const std::vector<target::Process>& device_processes() const { return processes_; }
  /// Where the library's code lies in such a process.
  const std::vector<target::CodeRange>& code_in(pid_t pid) const { return code_.at(pid); }
  /// All probed functions; the number of a symbol in a record is its place here.
  const std::vector<std::string>& symbols() const { return symbols_; }
  /// As the process sees it; empty when none was found.
  const std::string& library() const { return shown_path_; }

 private:
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

  bool look_at_one(pid_t pid);

  std::map<pid_t, std::string> without_;  // no library yet; their memory's size at the last look
  std::set<pid_t> with_;
  std::vector<target::Process> processes_;
  std::map<pid_t, std::vector<target::CodeRange>> code_;
  std::map<FileId, std::string> found_;  // path to open; empty: probed
  std::vector<std::string> symbols_;
  std::string shown_path_;
};

}  // namespace whystall::capture
