// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace loop {

enum class Mode { kNone, kRead, kWorkerRead, kLock, kCpu };

struct Options {
  Mode mode = Mode::kNone;
  std::int64_t kernel_ns = 10'000'000;
  std::int64_t host_ns =
      20'000'000;              // lock: how long the holder sleeps; cpu: how long a step computes
  std::string directory;       // read, worker-read: files to read, one a step, in name order
  std::string idle_directory;  // worker-read: the same for a second worker nobody waits for
};

Options parse_options(int argc, char** argv);

}  // namespace loop
