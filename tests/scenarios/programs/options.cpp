// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>

#include <map>

#include "die.h"

namespace loop {
namespace {

constexpr const char* kUsage =
    "usage: loop --mode none|read|worker-read|lock|cpu [--kernel-ms MS] [--host-ms MS] [--dir DIR] "
    "[--idle-worker DIR]";

std::int64_t milliseconds(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= 0 && value < 1e6)) {
    die("'%s' is no number of milliseconds\n%s", text, kUsage);
  }
  return static_cast<std::int64_t>(value * 1e6 + 0.5);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  static const std::map<std::string, Mode> kModes = {{"none", Mode::kNone},
                                                     {"read", Mode::kRead},
                                                     {"worker-read", Mode::kWorkerRead},
                                                     {"lock", Mode::kLock},
                                                     {"cpu", Mode::kCpu}};
  enum { kMode = 1, kKernel, kHost, kDirectory, kIdleWorker };
  static const option kOptions[] = {{"mode", required_argument, nullptr, kMode},
                                    {"kernel-ms", required_argument, nullptr, kKernel},
                                    {"host-ms", required_argument, nullptr, kHost},
                                    {"dir", required_argument, nullptr, kDirectory},
                                    {"idle-worker", required_argument, nullptr, kIdleWorker},
                                    {nullptr, 0, nullptr, 0}};
  Options options;
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    if (c == kMode) {
      const auto found = kModes.find(optarg);
      if (found == kModes.end()) die("no mode '%s'\n%s", optarg, kUsage);
      options.mode = found->second;
    } else if (c == kKernel) {
      options.kernel_ns = milliseconds(optarg);
    } else if (c == kHost) {
      options.host_ns = milliseconds(optarg);
    } else if (c == kDirectory) {
      options.directory = optarg;
    } else if (c == kIdleWorker) {
      options.idle_directory = optarg;
    } else {
      die("%s", kUsage);
    }
  }
  const bool reads = options.mode == Mode::kRead || options.mode == Mode::kWorkerRead;
  if (optind != argc || reads == options.directory.empty()) die("%s", kUsage);
  if (!options.idle_directory.empty() && options.mode != Mode::kWorkerRead) die("%s", kUsage);
  return options;
}

}  // namespace loop
