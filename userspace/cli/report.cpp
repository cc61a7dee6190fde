// SPDX-License-Identifier: Apache-2.0
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "commands.h"
#include "ledger/ledger.h"
#include "load/file_source.h"
#include "output/output.h"

namespace whystall::cli {

namespace {

output::TextStyle style_of_terminal() {
  output::TextStyle style;
  const char* no_color = std::getenv("NO_COLOR");
  if (!isatty(STDOUT_FILENO)) return style;
  style.color = !(no_color && *no_color);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.columns = std::clamp(static_cast<int>(size.ws_col), 60, 160);
  }
  return style;
}

std::string newest_recording() {
  namespace fs = std::filesystem;
  std::string newest;
  fs::file_time_type time{};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(".", ignored)) {
    if (entry.path().extension() != ".wst" || !entry.is_regular_file(ignored)) continue;
    const auto written = entry.last_write_time(ignored);
    if (newest.empty() || written > time) {
      newest = entry.path().filename().string();
      time = written;
    }
  }
  return newest;
}

output::TextStyle style_for(const std::string& path) {
  return path.empty() ? style_of_terminal() : output::TextStyle{};
}

}  // namespace

int fail(const Error& error) {
  // Names of files and processes may hold what would drive the terminal.
  std::fprintf(stderr, "whystall: %s\n", output::printable(error.text).c_str());
  return static_cast<int>(error.code);
}

/// A reader that has seen enough and closed the pipe is no error.
int write_out(const std::string& text, const std::string& path) {
  FILE* to = path.empty() ? stdout : std::fopen(path.c_str(), "w");
  if (!to) return fail({ErrorCode::kUsage, "cannot write " + path + ": " + std::strerror(errno)});
  const bool whole =
      std::fwrite(text.data(), 1, text.size(), to) == text.size() && std::fflush(to) == 0;
  const int reason = errno;
  if (!path.empty() && std::fclose(to) != 0 && whole)
    return fail({ErrorCode::kIncomplete, "cannot write " + path});
  if (whole || reason == EPIPE) return 0;
  return fail(
      {ErrorCode::kIncomplete, std::string("cannot write the report: ") + std::strerror(reason)});
}

static Result<model::Diagnosis> diagnose(const std::string& file) {
  auto source = load::open_source(file);
  if (!source) return source.error();
  return ledger::diagnose(**source);
}

int print_report(const std::string& file, Format format, const std::string& path) {
  const auto found = diagnose(file);
  if (!found) return fail(found.error());
  const model::Diagnosis& diagnosis = found.value();
  const std::string text = format == Format::kJson
                               ? output::render_json(diagnosis)
                               : output::render_text(diagnosis, style_for(path));
  return write_out(text, path);
}

/// One cause of it, in full.
static int print_cause(const std::string& file, const ReportOptions& options) {
  const auto found = diagnose(file);
  if (!found) return fail(found.error());
  const model::Diagnosis& diagnosis = found.value();
  const model::Finding* finding = output::find_cause(diagnosis, options.cause);
  if (!finding)
    return fail({ErrorCode::kUsage, "there is no cause '" + options.cause +
                                        "' in this recording: give a rank from 1 to " +
                                        std::to_string(diagnosis.ranked().size()) +
                                        ", or a name that its report shows"});
  const std::string text =
      options.format == Format::kJson
          ? output::render_cause_json(diagnosis, *finding)
          : output::render_cause_text(diagnosis, *finding, style_for(options.output));
  return write_out(text, options.output);
}

int run_report(const ReportOptions& options) {
  const std::string file = options.file.empty() ? newest_recording() : options.file;
  if (file.empty())
    return fail({ErrorCode::kUnreadable, "there is no recording (*.wst) in this directory"});
  if (!options.cause.empty()) return print_cause(file, options);
  return print_report(file, options.format, options.output);
}

}  // namespace whystall::cli
