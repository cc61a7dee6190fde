// SPDX-License-Identifier: Apache-2.0
#include "trace_arguments.h"

#include <cstdlib>
#include <string_view>

#include "base/size.h"
#include "recording/writer.h"

namespace whystall::cli {

void add_trace_options(CLI::App& app, TraceArguments& arguments) {
  app.add_option("-p,--pid", arguments.pids,
                 "process to watch, with its threads and children (repeatable)");
  app.add_option("--cgroup", arguments.cgroup,
                 "watch the processes of a control group: its directory, or its path as in "
                 "/proc/PID/cgroup");
  app.add_option("--comm", arguments.comm, "watch the processes of this command name");
  app.add_flag("--wait", arguments.wait,
               "go on when no process has loaded the accelerator's driver yet");
  app.add_option("-d,--duration", arguments.duration,
                 "how long: 500ms, 10s, 2m (default: until Ctrl-C, or the end of the processes)");
  app.add_option("-o,--output", arguments.output,
                 "where to keep the recording (default: ./whystall-PID-TIME.wst)");
  app.add_option("--max-size", arguments.max_size,
                 "bound of the recording: 64MiB, 2G; the newest is kept (default: none)");
  app.add_option("--budget", arguments.budget,
                 "what the kernel side may take, as a share of one CPU: 1%; measured each 5 s; the "
                 "driver's queries go first, then the dearest probes (default: none)");
}

namespace {

/// "1%", "0.5%": a share of one CPU.
Result<double> parse_budget(const std::string& text) {
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || std::string_view(end) != "%" || !(percent > 0) || percent > 100) {
    return Error{ErrorCode::kUsage,
                 "'" + text + "' is not a budget: give a share of one CPU, as in --budget 1%"};
  }
  return percent / 100;
}

}  // namespace

Result<WhyOptions> checked(const TraceArguments& arguments, Format format, bool report) {
  WhyOptions options;
  options.command = arguments.command;
  options.format = format;
  options.report = report;
  capture::SessionOptions& session = options.session;
  session.targets = {arguments.pids, arguments.cgroup, arguments.comm};
  session.output = arguments.output;
  // Of a group, a name or a new command it is natural that the driver comes later.
  session.wait_for_driver = arguments.wait || !arguments.cgroup.empty() ||
                            !arguments.comm.empty() || !arguments.command.empty();
  if (arguments.pids.empty() && arguments.cgroup.empty() && arguments.comm.empty() &&
      arguments.command.empty())
    return Error{ErrorCode::kUsage,
                 "which process? Give its number with -p PID, or --cgroup, --comm, or a command "
                 "behind --"};
  for (const pid_t pid : arguments.pids) {
    if (pid <= 0) return Error{ErrorCode::kUsage, std::to_string(pid) + " is not a process number"};
  }
  if (!arguments.duration.empty()) {
    auto duration = parse_duration(arguments.duration);
    if (!duration) return duration.error();
    session.duration = *duration;
  }
  if (!arguments.budget.empty()) {
    auto budget = parse_budget(arguments.budget);
    if (!budget) return budget.error();
    session.budget = *budget;
  }
  if (!arguments.max_size.empty()) {
    auto size = parse_size(arguments.max_size);
    if (!size) return size.error();
    if (*size < recording::kMinMaxSize)
      return Error{ErrorCode::kUsage, "--max-size must be at least 1MiB"};
    session.max_size = *size;
  }
  return options;
}

}  // namespace whystall::cli
