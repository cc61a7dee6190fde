// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loop {

// A piece of the host work of each step.
struct Part {
  std::string mode;  // VIA/.../WORK, see modes.h
  std::int64_t host_ns = 0;
  std::string directory;
  std::size_t first_file = 0;  // of the directory
  int cpu = -1;                // of those that the main thread waits for; -1: as the program
  bool decoy = false;          // asked for each step, and nobody waits for it
};

struct Options {
  std::int64_t kernel_ns = 10'000'000;
  std::vector<Part> parts;
};

// Ends the program with a usage text on a wrong argument.
Options parse_options(int argc, char** argv);

}  // namespace loop
