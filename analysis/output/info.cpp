// SPDX-License-Identifier: Apache-2.0
#include "output/info.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "output/layout.h"
#include "output/output.h"

namespace whystall::output {

namespace {

using model::Summary;
using nlohmann::ordered_json;

constexpr int kColumns = 80;
constexpr int kLabel = 11;

struct Kind {
  wst_kind kind;
  const char* name;
};
constexpr Kind kKinds[] = {
    {WST_WAIT, "wait"},     {WST_SUMS, "sums"},       {WST_SLICE, "slice"},
    {WST_API, "api"},       {WST_TASK, "task"},       {WST_FILE, "file"},
    {WST_END, "end"},       {WST_POLLSET, "pollset"}, {WST_MIGRATE, "migration"},
    {WST_SAMPLE, "sample"}, {WST_EXIT, "exit"},       {WST_QUIET, "quiet"},
    {WST_LOSS, "loss"}};
constexpr std::array<const char*, WST_LOSS_CLASSES> kLossNames = {
    "wait", "slice", "file", "api", "task", "storage", "sample", "end"};

std::string line(std::string_view label, std::string_view text) {
  return pad(label, kLabel) + cut(text, kColumns - kLabel) + "\n";
}

std::string number(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string size(std::uint64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (bytes >= 10u << 30) return format("%.1f GiB", b / (1u << 30));
  if (bytes >= 1u << 20) return format("%.1f MiB", b / (1u << 20));
  if (bytes >= 1u << 10) return format("%.1f KiB", b / (1u << 10));
  return format("%.0f B", b);
}

double ratio(const Summary& s) {
  return s.stored_bytes ? static_cast<double>(s.raw_bytes) / static_cast<double>(s.stored_bytes)
                        : 0;
}

std::string target_text(const model::Meta& m) {
  if (m.targets.empty()) return "not told";
  const auto& first = m.targets.front();
  std::string more;
  if (m.targets.size() > 1) more = format(" and %zu more", m.targets.size() - 1);
  const std::string command = printable(first.command.empty() ? first.comm : first.command);
  return "pid " + std::to_string(first.pid) + more + ": " + command;
}

std::string or_not_told(const std::string& text) {
  return text.empty() ? "not told" : printable(text);
}

std::string ended_text(const Summary& s) {
  if (s.stats.no_end) return "nothing: its writer was killed, or the disk was full";
  return or_not_told(s.meta.stopped_by);
}

/// "120 wait records, 1.20 s to 3.40 s after the window's start".
std::string loss_text(const model::LossTotal& loss, const char* name, const model::Meta& m) {
  return number(loss.count) + " " + name + ", from " + seconds(loss.first_ns - m.start_ns) +
         " to " + seconds(loss.last_ns - m.start_ns) + " after the window's start";
}

/// The classes that lost most, and how many there are beside them: a screen has 24 lines.
constexpr std::size_t kLossLines = 3;

std::string losses_text(const Summary& s) {
  std::vector<std::pair<model::LossTotal, const char*>> lost;
  for (std::size_t i = 0; i < s.losses.size(); i++) {
    if (s.losses[i].count) lost.emplace_back(s.losses[i], kLossNames[i]);
  }
  if (s.other_losses.count) lost.emplace_back(s.other_losses, "of other classes");
  if (lost.empty()) return line("lost", s.stats.no_end ? "nothing is known" : "nothing");
  std::stable_sort(lost.begin(), lost.end(),
                   [](const auto& a, const auto& b) { return a.first.count > b.first.count; });
  std::string text;
  for (std::size_t i = 0; i < std::min(lost.size(), kLossLines); i++)
    text += line(text.empty() ? "lost" : "", loss_text(lost[i].first, lost[i].second, s.meta));
  if (lost.size() > kLossLines)
    text += line("", "and of " + number(lost.size() - kLossLines) + " other classes (--json)");
  return text;
}

/// By kind, as many on a line as fit.
std::string records_text(const Summary& s) {
  std::vector<std::string> parts = {number(s.stats.records)};
  for (const Kind& kind : kKinds) {
    if (s.records[kind.kind]) parts.push_back(number(s.records[kind.kind]) + " " + kind.name);
  }
  if (s.stats.unknown_records) parts.push_back(number(s.stats.unknown_records) + " unknown");
  if (s.stats.bad_records) parts.push_back(number(s.stats.bad_records) + " bad");
  std::string text, row = parts.front();
  for (std::size_t i = 1; i < parts.size(); i++) {
    const std::string next = row + (i == 1 ? ": " : ", ") + parts[i];
    if (width(next) <= kColumns - kLabel - 1) {
      row = next;
      continue;
    }
    text += line(text.empty() ? "records" : "", row + ",");
    row = parts[i];
  }
  return text + line(text.empty() ? "records" : "", row);
}

/// What the devices said of themselves, through NVML: "live, GPU 0 busy 40.1 %". One line: the
/// rest is in the JSON.
std::string counters_text(const model::Meta& m) {
  const model::Nvml& nvml = m.nvml;
  if (nvml.state.empty()) return line("counters", "not told");
  std::string text = nvml.state + (nvml.why.empty() ? "" : ": " + nvml.why);
  for (const auto& [index, device] : nvml.devices) {
    const auto share = model::busy_share(nvml, index, {m.start_ns, m.end_ns});
    text += (index == nvml.devices.begin()->first ? "; GPU " : ", ") + std::to_string(index) +
            (share ? format(" busy %.1f %%", *share * 100) : " not known");
  }
  return line("counters", printable(text));
}

ordered_json counters_json(const model::Meta& m) {
  const model::Nvml& nvml = m.nvml;
  ordered_json devices = ordered_json::array(), processes = ordered_json::array();
  for (const auto& [index, device] : nvml.devices) {
    const auto share = model::busy_share(nvml, index, {m.start_ns, m.end_ns});
    devices.push_back({{"index", index},
                       {"uuid", printable(device.uuid)},
                       {"pci_bus_id", printable(device.pci_bus_id)},
                       {"name", printable(device.name)},
                       {"minor", device.minor ? ordered_json(*device.minor) : ordered_json()},
                       {"memory_bytes", device.memory_bytes},
                       {"most_used_bytes", device.most_used_bytes},
                       {"busy_share", share ? ordered_json(*share) : ordered_json()}});
  }
  for (const auto& [key, seen] : nvml.processes) {
    processes.push_back({{"device", key.first},
                         {"pid", key.second},
                         {"first_ns", seen.first_ns},
                         {"last_ns", seen.last_ns}});
  }
  return {{"state", printable(nvml.state)},
          {"why", printable(nvml.why)},
          {"devices", devices},
          {"processes", processes},
          {"samples", nvml.samples.size()},
          {"left_out", nvml.left_out}};
}

ordered_json loss_json(const model::LossTotal& loss) {
  return {{"count", loss.count}, {"first_ns", loss.first_ns}, {"last_ns", loss.last_ns}};
}

}  // namespace

std::string render_info_text(const Summary& s, const std::string& file) {
  const model::Meta& m = s.meta;
  const auto version = [&] {
    return std::to_string(s.format_major) + "." + std::to_string(s.format_minor);
  };
  std::string text = line("recording", fit(printable(file), kColumns - kLabel));
  text += line("format", version() + ", written by whystall " + or_not_told(m.whystall));
  text += line("host", or_not_told(m.host) + ", kernel " + or_not_told(m.kernel));
  text += line("target", target_text(m));
  text += line("profile", or_not_told(m.profile) + ", clock " + or_not_told(m.clock));
  text += line("driver", fit(or_not_told(m.driver_library), kColumns - kLabel));
  text += line("", number(m.api_symbols.size()) + " of its calls watched" +
                       (m.api_complete ? "" : ", some could not be"));
  text += counters_text(m);
  const model::DurationNs length = m.end_ns - m.start_ns;
  text +=
      line("window", format_wall_time(m.wall_start_ns) + " to " +
                         format_wall_time(later(m.wall_start_ns, length)) + ", " + seconds(length));
  text += line("", "monotonic " + std::to_string(m.start_ns) + " to " + std::to_string(m.end_ns));
  if (s.stats.dropped_ns > 0)
    text += line("", "the " + seconds(s.stats.dropped_ns) + " before it made way (--max-size)");
  text += line("ended by", ended_text(s));
  text += records_text(s);
  text += line("chunks", number(s.chunks) + ", " + size(s.stored_bytes) + " stored, " +
                             size(s.raw_bytes) + " raw" + format(" (%.1f : 1)", ratio(s)) +
                             ", file " + size(s.file_bytes));
  text += losses_text(s);
  text += line("damaged", number(s.stats.damaged_chunks) + " chunks, " +
                              number(s.stats.unknown_chunks) + " more of unknown classes; " +
                              (s.stats.cut ? "the file ends inside a chunk" : "not cut"));
  return text;
}

std::string render_info_json(const Summary& s, const std::string& file) {
  const model::Meta& m = s.meta;
  ordered_json targets = ordered_json::array();
  for (const auto& t : m.targets) {
    targets.push_back(
        {{"pid", t.pid}, {"comm", printable(t.comm)}, {"command", printable(t.command)}});
  }
  ordered_json records = {{"total", s.stats.records}};
  for (const Kind& kind : kKinds) records[kind.name] = s.records[kind.kind];
  records["unknown"] = s.stats.unknown_records;
  records["bad"] = s.stats.bad_records;
  ordered_json losses = ordered_json::object();
  for (std::size_t i = 0; i < s.losses.size(); i++) {
    if (s.losses[i].count) losses[kLossNames[i]] = loss_json(s.losses[i]);
  }
  if (s.other_losses.count) losses["other"] = loss_json(s.other_losses);
  const ordered_json j = {
      {"file", printable(file)},
      {"format", {{"major", s.format_major}, {"minor", s.format_minor}}},
      {"whystall", printable(m.whystall)},
      {"host", {{"name", printable(m.host)}, {"kernel", printable(m.kernel)}}},
      {"targets", targets},
      {"profile", printable(m.profile)},
      {"clock", printable(m.clock)},
      {"driver_library", printable(m.driver_library)},
      {"api_symbols", m.api_symbols.size()},
      {"api_complete", m.api_complete},
      {"device_counters", counters_json(m)},
      {"window",
       {{"start_ns", m.start_ns},
        {"end_ns", m.end_ns},
        {"wall_start", format_wall_time(m.wall_start_ns)},
        {"wall_end", format_wall_time(later(m.wall_start_ns, m.end_ns - m.start_ns))},
        {"dropped_ns", s.stats.dropped_ns}}},
      {"ended", !s.stats.no_end},
      {"stopped_by", printable(m.stopped_by)},
      {"records", records},
      {"chunks",
       {{"count", s.chunks},
        {"file_bytes", s.file_bytes},
        {"stored_bytes", s.stored_bytes},
        {"raw_bytes", s.raw_bytes},
        {"ratio", ratio(s)},
        {"unknown", s.stats.unknown_chunks},
        {"damaged", s.stats.damaged_chunks}}},
      {"losses", losses},
      {"cut", s.stats.cut}};
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace whystall::output
