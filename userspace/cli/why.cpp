// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "capture/session.h"
#include "commands.h"

namespace whystall::cli {

namespace {

std::atomic<bool> stop_asked{false};

void ask_stop(int) {
  stop_asked.store(true);
}

void catch_signals() {
  struct sigaction action{};
  action.sa_handler = ask_stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
}

std::string default_name(pid_t pid) {
  char time[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &parts);
  return "whystall-" + std::to_string(pid) + "-" + time + ".wst";
}

class Progress {
 public:
  explicit Progress(const WhyOptions& options) : options_(options), shown_(isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }

  void show(double seconds) const {
    if (!shown_) return;
    if (options_.duration) {
      std::fprintf(stderr, "\rrecording %.0f of %.0f s (Ctrl-C ends it and reports) ", seconds,
                   static_cast<double>(*options_.duration) / 1e9);
    } else {
      std::fprintf(stderr, "\rrecording %.0f s (Ctrl-C ends it and reports) ", seconds);
    }
    std::fflush(stderr);
  }

  void clear() const {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  const WhyOptions& options_;
  bool shown_;
};

}  // namespace

int run_why(const WhyOptions& options) {
  catch_signals();
  capture::SessionOptions session{options.pids, options.duration, options.output};
  if (session.output.empty()) session.output = default_name(options.pids.front());
  const Progress progress(options);
  progress.show(0);
  auto result =
      capture::record_session(session, stop_asked, [&](double seconds) { progress.show(seconds); });
  progress.clear();
  if (!result) {
    return fail(result.error());
  }
  int code = 0;
  if (options.report) code = print_report(session.output, options.format, "");
  std::fprintf(stderr, "Recording: %s\n", session.output.c_str());
  std::fflush(stderr);
  // The probes go with `result`, after the report: detaching can take seconds on older kernels.
  return code;
}

}  // namespace whystall::cli
