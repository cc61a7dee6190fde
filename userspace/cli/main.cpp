// SPDX-License-Identifier: Apache-2.0
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <new>
#include <string_view>

#include "commands.h"
#include "output/output.h"
#include "trace_arguments.h"

namespace {

using namespace whystall;
using namespace whystall::cli;

constexpr const char* kAbout =
    "whystall says why the accelerator of a running process stalled.\n\n"
    "  sudo whystall -p PID -d 10s     watch PID, its threads and children for 10 s, then report\n"
    "  sudo whystall -- COMMAND...     start a command and watch it from its first instruction on\n"
    "  whystall report FILE.wst        report again, without root, on any machine\n"
    "  whystall report --cause 1       its first cause in full\n"
    "  whystall info FILE.wst          what the recording holds\n"
    "  sudo whystall check             what can be seen on this host, and what it costs here\n";

}  // namespace

static int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app(kAbout, "whystall");
  app.set_version_flag("--version", std::string("whystall ") + WHYSTALL_VERSION);
  app.require_subcommand(0, 1);

  TraceArguments why_arguments, record_arguments;
  ReportOptions report;
  InfoOptions info;
  bool json = false, report_json = false, info_json = false, verbose = false, schema = false;
  std::string format = "text";

  add_trace_options(app, why_arguments);
  app.add_flag("--json", json, "print the report as JSON");
  app.add_flag("--json-schema", schema, "print the JSON Schema of the report");
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
  reporter->add_option("--cause", report.cause,
                       "one cause in full, by its rank or its name: all objects, the three gaps "
                       "with most of it hop by hop, what to check first");
  reporter->add_option("-o,--output", report.output, "write the report there");
  CLI::App* informer = app.add_subcommand("info", "what a recording holds; needs no root");
  informer->add_option("FILE", info.file, "the recording")->required();
  informer->add_flag("--json", info_json, "print it as JSON");
  CLI::App* checker =
      app.add_subcommand("check", "what can be seen on this host, and what it costs here");
  checker->add_flag("--json", info_json, "print it as JSON");

  // What stands behind "--" is a command for somebody else to understand.
  const int own = static_cast<int>(
      std::find_if(argv, argv + argc, [](const char* a) { return std::string_view(a) == "--"; }) -
      argv);
  for (int i = own + 1; i < argc; i++) why_arguments.command.emplace_back(argv[i]);
  record_arguments.command = why_arguments.command;

  try {
    app.parse(own, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ErrorCode::kUsage);
  }

  auto log = spdlog::stderr_color_mt("whystall");
  spdlog::set_default_logger(log);
  spdlog::set_level(verbose ? spdlog::level::debug : spdlog::level::warn);

  if (schema) return write_out(std::string(output::report_schema()), "");
  if (reporter->parsed()) {
    report.format = report_json || format == "json" ? Format::kJson : Format::kText;
    return run_report(report);
  }
  if (informer->parsed()) {
    info.format = info_json ? Format::kJson : Format::kText;
    return run_info(info);
  }
  if (checker->parsed()) return run_check(info_json ? Format::kJson : Format::kText);
  if (record->parsed()) {
    auto options = checked(record_arguments, Format::kText, false);
    return options ? run_why(*options) : fail(options.error());
  }
  if (!why->parsed() && argc == 1) {
    std::fputs(app.help().c_str(), stdout);
    return static_cast<int>(ErrorCode::kUsage);
  }
  auto options = checked(why_arguments, json ? Format::kJson : Format::kText, true);
  return options ? run_why(*options) : fail(options.error());
}

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail({ErrorCode::kUnreadable, "the recording needs more memory than there is"});
  }
}
