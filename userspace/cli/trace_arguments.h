// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands.h"

namespace whystall::cli {

/// What the command line gives as text, before it is checked.
struct TraceArguments {
  std::vector<pid_t> pids;
  std::string cgroup;
  std::string comm;
  std::vector<std::string> command;
  std::string duration;
  std::string output;
  std::string max_size;
  std::string budget;
  bool wait = false;
};

/// Options that say whom to watch, how long, and where to keep the recording.
void add_trace_options(CLI::App& app, TraceArguments& arguments);

/// Error: usage.
Result<WhyOptions> checked(const TraceArguments& arguments, Format format, bool report);

}  // namespace whystall::cli
