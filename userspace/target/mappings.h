// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace whystall::target {

/// A file in the memory of a process.
struct MappedFile {
  std::uint64_t ino = 0;
  std::uint32_t dev = 0;  // kernel encoding: major << 20 | minor
  std::string path;       // as the process sees it
  std::string fs_type;    // empty when its mount is not listed
  std::vector<std::pair<std::uint64_t, std::uint64_t>> code;  // where it can be executed, [lo, hi)
};

/// The files that a process has mapped, each once. At most `limit`. Empty when the process is gone.
std::vector<MappedFile> mapped_files(pid_t pid, std::size_t limit);

}  // namespace whystall::target
