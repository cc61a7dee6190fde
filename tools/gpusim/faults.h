// SPDX-License-Identifier: Apache-2.0
// Faults that a test asks for by the client's environment; see README.md.
#pragma once

#include <atomic>
#include <cstdint>

namespace gpusim {

struct Faults {
  uint64_t memory_bytes = UINT64_MAX;  // more than this is out of memory
  uint64_t failing_launch = 0;         // this one fails, counted from 1
  int64_t context_ns = 0;              // what creating a context takes
  uint64_t stalled_free = 0;           // this cuMemFree, counted from 1, takes stall_ns more
  int64_t stall_ns = 0;

  std::atomic<uint64_t> launches = 0;
  std::atomic<uint64_t> frees = 0;

  void read_environment();
  bool launch_fails() { return ++launches == failing_launch; }
  bool free_stalls() { return ++frees == stalled_free; }
};

}  // namespace gpusim
