// SPDX-License-Identifier: Apache-2.0
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <new>

#include "commands.h"

namespace {

using namespace whystall;
using namespace whystall::cli;

constexpr const char* kAbout =
    "whystall says why the accelerator of a running process stalled.\n\n"
    "  sudo whystall -p PID -d 10s     watch PID, its threads and children for 10 s, then report\n"
    "  whystall report FILE.wst        report again, without root, on any machine\n";

/// What the command line gives as text, before it is checked.
struct TraceArguments {
  std::vector<pid_t> pids;
  std::string duration;
  std::string output;
};

void add_trace_options(CLI::App& app, TraceArguments& arguments) {
  app.add_option("-p,--pid", arguments.pids,
                 "process to watch, with its threads and children (repeatable)");
  app.add_option("-d,--duration", arguments.duration,
                 "how long: 500ms, 10s, 2m (default: until Ctrl-C)");
  app.add_option("-o,--output", arguments.output,
                 "where to keep the recording (default: ./whystall-PID-TIME.wst)");
}

Result<WhyOptions> why_options(const TraceArguments& arguments, Format format, bool report) {
  WhyOptions options{arguments.pids, std::nullopt, arguments.output, format, report};
  if (options.pids.empty())
    return Error{ErrorCode::kUsage, "which process? Give its number with -p PID"};
  for (const pid_t pid : options.pids) {
    if (pid <= 0) return Error{ErrorCode::kUsage, std::to_string(pid) + " is not a process number"};
  }
  if (!arguments.duration.empty()) {
    auto duration = parse_duration(arguments.duration);
    if (!duration) return duration.error();
    options.duration = *duration;
  }
  return options;
}

}  // namespace

static int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app(kAbout, "whystall");
  app.set_version_flag("--version", std::string("whystall ") + WHYSTALL_VERSION);
  app.require_subcommand(0, 1);

  TraceArguments why_arguments, record_arguments;
  ReportOptions report;
  bool json = false, report_json = false, verbose = false;
  std::string format = "text";

  add_trace_options(app, why_arguments);
  app.add_flag("--json", json, "print the report as JSON");
  app.add_flag("--verbose", verbose, "say on stderr what the kernel and libbpf say");

  CLI::App* why =
      app.add_subcommand("why", "record, then report (what plain 'whystall -p PID' does)");
  add_trace_options(*why, why_arguments);
  why->add_flag("--json", json, "print the report as JSON");
  CLI::App* record = app.add_subcommand("record", "record only");
  add_trace_options(*record, record_arguments);
  CLI::App* reporter = app.add_subcommand("report", "report on a recording; needs no root");
  reporter->add_option("FILE", report.file, "the recording (default: the newest *.wst here)");
  reporter->add_option("--format", format, "text or json")->check(CLI::IsMember({"text", "json"}));
  reporter->add_flag("--json", report_json, "short for --format json");
  reporter->add_option("-o,--output", report.output, "write the report there");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::kUsage);
  }

  auto log = spdlog::stderr_color_mt("whystall");
  spdlog::set_default_logger(log);
  spdlog::set_level(verbose ? spdlog::level::debug : spdlog::level::warn);

  if (reporter->parsed()) {
    report.format = report_json || format == "json" ? Format::kJson : Format::kText;
    return run_report(report);
  }
  if (record->parsed()) {
    auto options = why_options(record_arguments, Format::kText, false);
    return options ? run_why(*options) : fail(options.error());
  }
  if (!why->parsed() && argc == 1) {
    std::fputs(app.help().c_str(), stdout);
    return static_cast<int>(ErrorCode::kUsage);
  }
  auto options = why_options(why_arguments, json ? Format::kJson : Format::kText, true);
  return options ? run_why(*options) : fail(options.error());
}

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail({ErrorCode::kUnreadable, "the recording needs more memory than there is"});
  }
}
