// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace whystall::target {

struct Process {
  pid_t pid;
  std::string comm;
  std::string command_line;  // arguments joined by blanks
};

/// What /proc says of a live process. Error: cannot trace, when there is none of this number.
Result<Process> look_up(pid_t pid);

/// Reads again what a process is called. Returns whether that has changed; one that has ended keeps
/// its name.
bool refresh(Process& process);

/// The processes and all that descend from them, each once, nearest first.
std::vector<pid_t> with_descendants(const std::vector<pid_t>& pids);

/// Where code lies in a process's memory: [lo, hi).
struct CodeRange {
  std::uint64_t lo, hi;
};

/// The driver library that a process has mapped, by a path that opens from here, whatever mount
/// namespace the process lives in.
struct MappedLibrary {
  pid_t pid;
  std::string shown_path;  // as the process sees it
  std::string open_path;   // below /proc/PID
  std::vector<CodeRange> code;
};
std::optional<MappedLibrary> find_driver_library(pid_t pid);

}  // namespace whystall::target
