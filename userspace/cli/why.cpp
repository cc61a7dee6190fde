// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

#include "base/text.h"
#include "commands.h"
#include "target/command.h"

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
  return "whystall-" + (pid > 0 ? std::to_string(pid) + "-" : "") + time + ".wst";
}

class Progress {
 public:
  explicit Progress(const WhyOptions& options) : options_(options), shown_(isatty(STDERR_FILENO)) {}
  ~Progress() { clear(); }

  void show(double seconds) const {
    if (!shown_) return;
    if (options_.session.duration) {
      std::fprintf(stderr, "\rrecording %.0f of %.0f s (Ctrl-C ends it and reports) ", seconds,
                   static_cast<double>(*options_.session.duration) / 1e9);
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

std::string what_is_kept(const capture::SessionResult& result) {
  if (result.dropped_ns <= 0) return "";
  return format(" (the last %.1f of %.1f s: --max-size)",
                static_cast<double>(result.recorded_ns - result.dropped_ns) / 1e9,
                static_cast<double>(result.recorded_ns) / 1e9);
}

/// More than this, and the recording is called incomplete.
constexpr double kLossBound = 0.01;

std::optional<Error> too_much_lost(const capture::SessionResult& result) {
  const auto all = static_cast<double>(result.records + result.lost);
  if (static_cast<double>(result.lost) <= kLossBound * all) return std::nullopt;
  return Error{
      ErrorCode::kIncomplete,
      format("%llu records found no room, %.1f %% of all: what happened meanwhile is less sure, or "
             "unknown",
             static_cast<unsigned long long>(result.lost),
             100 * static_cast<double>(result.lost) / all)};
}

}  // namespace

int run_why(const WhyOptions& options) {
  catch_signals();
  capture::SessionOptions session = options.session;
  std::optional<target::HeldCommand> command;
  if (!options.command.empty()) {
    auto held = target::HeldCommand::hold(options.command);
    if (!held) return fail(held.error());
    command.emplace(std::move(*held));
    session.targets.pids.push_back(command->pid());
    session.attached = [&command] { return command->release(); };
  }
  if (session.output.empty()) {
    session.output = default_name(session.targets.pids.empty() ? 0 : session.targets.pids.front());
  }
  const Progress progress(options);
  progress.show(0);
  auto result =
      capture::record_session(session, stop_asked, [&](double seconds) { progress.show(seconds); });
  progress.clear();
  if (!result) return fail(result.error());
  int code = 0;
  if (options.report) code = print_report(session.output, options.format, "");
  if (!result->driver_seen) {
    std::fputs(
        "whystall: no process that was watched loaded an accelerator's driver (libcuda.so.1)\n",
        stderr);
  }
  std::fprintf(stderr, "Recording: %s%s\n", session.output.c_str(), what_is_kept(*result).c_str());
  if (command && command->runs())
    std::fprintf(stderr, "The command goes on as process %d\n", command->pid());
  // The report of what could be written comes first, then why there is no more.
  if (result->incomplete) code = fail(*result->incomplete);
  if (const auto loss = too_much_lost(*result)) code = fail(*loss);
  std::fflush(stderr);
  // The probes go with `result`, after the report: detaching can take seconds on older kernels.
  return code;
}

}  // namespace whystall::cli
