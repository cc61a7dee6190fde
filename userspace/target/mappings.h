// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace whystall::target {

/// A part of a file in the memory of a process.
struct Mapping {
  std::uint64_t lo = 0, hi = 0;  // addresses [lo, hi)
  bool code = false;             // can be executed
  std::uint64_t ino = 0;
  std::uint32_t dev = 0;  // kernel encoding: major << 20 | minor
  std::string path;       // as the process sees it
  std::string fs_type;    // empty when its mount is not listed
};

/// The files that a process has mapped: each piece of code, and each other file once. At most
/// `limit`. Empty when the process is gone.
std::vector<Mapping> mappings_of(pid_t pid, std::size_t limit);

}  // namespace whystall::target
