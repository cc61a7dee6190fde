// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace whystall::cli {

enum class Format { kText, kJson };

struct WhyOptions {
  std::vector<pid_t> pids;
  std::optional<DurationNs> duration;
  std::string output;  // empty: ./whystall-PID-TIME.wst
  Format format = Format::kText;
  bool report = true;  // false: record only
};

struct ReportOptions {
  std::string file;  // empty: the newest recording here
  std::string output;
  Format format = Format::kText;
};

/// Both return the exit code and have said all that is to be said.
int run_why(const WhyOptions& options);
int run_report(const ReportOptions& options);

/// Loads, analyses and prints a recording to stdout or `output`. Returns the exit code.
int print_report(const std::string& file, Format format, const std::string& output);

/// Prints the sentence to stderr and returns its exit code.
int fail(const Error& error);

}  // namespace whystall::cli
