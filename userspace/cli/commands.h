// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "capture/session.h"

namespace whystall::cli {

enum class Format { kText, kJson };

struct WhyOptions {
  capture::SessionOptions session;   // output empty: ./whystall-PID-TIME.wst
  std::vector<std::string> command;  // to start and watch; empty: none
  Format format = Format::kText;
  bool report = true;  // false: record only
};

struct ReportOptions {
  std::string file;  // empty: the newest recording here
  std::string output;
  std::string cause;  // its rank or its name; empty: the whole report
  Format format = Format::kText;
};

struct InfoOptions {
  std::string file;
  Format format = Format::kText;
};

/// All return the exit code and have said all that is to be said.
int run_why(const WhyOptions& options);
int run_report(const ReportOptions& options);
int run_info(const InfoOptions& options);
int run_check(Format format);

/// Loads, analyses and prints a recording to stdout or `output`. Returns the exit code.
int print_report(const std::string& file, Format format, const std::string& output);

/// Writes to stdout or `path`. Returns the exit code; a closed pipe is no error.
int write_out(const std::string& text, const std::string& path);

/// Prints the sentence to stderr and returns its exit code.
int fail(const Error& error);

}  // namespace whystall::cli
