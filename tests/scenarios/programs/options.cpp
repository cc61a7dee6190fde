// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>

#include "die.h"
#include "modes.h"

namespace loop {
namespace {

[[noreturn]] void usage(const char* problem) {
  die("%s\n"
      "usage: loop [--kernel-ms MS] PART...\n"
      "PART: --mode|--decoy [VIA/]...WORK [--host-ms MS] [--dir DIR] [--cpu N]\n%s",
      problem, describe_modes().c_str());
}

double number(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0 && value < 1e6)) usage("that is no number");
  return value;
}

std::int64_t milliseconds(const char* text) {
  return static_cast<std::int64_t>(number(text) * 1e6 + 0.5);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  enum { kMode = 1, kDecoy, kKernel, kHost, kDirectory, kCpu };
  static const option kOptions[] = {{"mode", required_argument, nullptr, kMode},
                                    {"decoy", required_argument, nullptr, kDecoy},
                                    {"kernel-ms", required_argument, nullptr, kKernel},
                                    {"host-ms", required_argument, nullptr, kHost},
                                    {"dir", required_argument, nullptr, kDirectory},
                                    {"cpu", required_argument, nullptr, kCpu},
                                    {nullptr, 0, nullptr, 0}};
  Options options;
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == kMode || c == kDecoy) {
      options.parts.push_back({.mode = optarg, .directory = {}, .decoy = c == kDecoy});
    } else if (c == kKernel) {
      options.kernel_ns = milliseconds(optarg);
    } else if (c == '?' || options.parts.empty()) {
      usage("an option that is not known or stands before its part");
    } else if (c == kHost) {
      options.parts.back().host_ns = milliseconds(optarg);
    } else if (c == kDirectory) {
      options.parts.back().directory = optarg;
    } else if (c == kCpu) {
      options.parts.back().cpu = static_cast<int>(number(optarg));
    }
  }
  if (optind != argc) usage("there is an argument too many");
  if (options.parts.empty()) usage("there is nothing to do");
  for (const Part& part : options.parts) {
    if (const std::string problem = mode_problem(part); !problem.empty()) usage(problem.c_str());
  }
  return options;
}

}  // namespace loop
