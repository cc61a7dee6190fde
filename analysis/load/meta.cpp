// SPDX-License-Identifier: Apache-2.0
#include "load/meta.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/time.h"
#include "load/believable.h"
#include "load/nvml.h"

namespace whystall::load {

namespace {

using nlohmann::json;

/// Parsed, a byte of nested JSON can take 90.
constexpr std::size_t kMaxMetaBytes = 4u << 20;
/// Thirteen days: no recording that fits in memory is longer.
constexpr model::DurationNs kMaxWindow = model::DurationNs{1} << 50;

model::Pid pid_of(const json& process) {
  const auto pid = process.find("pid");
  if (pid != process.end() && pid->is_number_float()) return 0;
  return process.value("pid", 0u);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> driver_code_of(const json& process) {
  constexpr std::size_t kMaxRanges = 64;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  const auto it = process.find("driver_code");
  if (it == process.end() || !it->is_array()) return ranges;
  for (const json& range : *it) {
    const bool pair = range.is_array() && range.size() == 2 && range[0].is_number_unsigned() &&
                      range[1].is_number_unsigned();
    if (pair && ranges.size() < kMaxRanges)
      ranges.emplace_back(range[0].get<std::uint64_t>(), range[1].get<std::uint64_t>());
  }
  return ranges;
}

/// The mean of the measurements, each the sum of what the parts of the kernel side took.
void take_cost(model::Meta& meta, const json& measurements) {
  double sum = 0;
  std::size_t count = 0;
  for (const json& one : measurements) {
    if (!one.is_object() || !one.contains("cpu_share") || !one["cpu_share"].is_object()) continue;
    for (const auto& [source, share] : one["cpu_share"].items()) {
      if (share.is_number()) sum += share.get<double>();
    }
    count++;
  }
  if (count > 0 && std::isfinite(sum)) meta.cost_cpu_share = sum / static_cast<double>(count);
}

void take_shed(model::Meta& meta, const json& list) {
  auto number = [](const json& one, const char* key) {
    const auto it = one.find(key);
    const double value = it != one.end() && it->is_number() ? it->get<double>() : 0;
    return std::isfinite(value) && value >= 0 ? value : 0;
  };
  meta.shed.clear();
  for (const json& one : list) {
    if (!one.is_object()) continue;
    const double at = number(one, "at_ns");
    meta.shed.push_back({one.value("source", ""), at < 1e18 ? static_cast<model::TimeNs>(at) : 0,
                         number(one, "cpu_share"), number(one, "calls_per_second")});
  }
}

/// Where a file of a process can be executed. What was mapped later, there or over it, counts.
void take_code(model::CodeMap& code, const json& file) {
  constexpr std::size_t kMost = 50'000;
  const auto list = file.find("code");
  if (list == file.end() || !list->is_array()) return;
  for (const json& range : *list) {
    const bool two = range.is_array() && range.size() == 2 && range[0].is_number_unsigned() &&
                     range[1].is_number_unsigned();
    if (!two || code.size() >= kMost) continue;
    code[range[0].get<std::uint64_t>()] = {range[1].get<std::uint64_t>(), file.value("path", "")};
  }
}

/// What one process has mapped; a hostile recording may list any number.
void take_mapped_files(model::Meta& meta, const json& piece) {
  constexpr std::size_t kMost = 200'000;
  const auto files = piece.is_object() ? piece.find("files") : piece.end();
  if (!piece.is_object() || files == piece.end() || !files->is_array()) return;
  model::CodeMap& code = meta.code[piece.value("pid", model::Pid{0})];
  for (const json& file : *files) {
    if (meta.mapped_files.size() >= kMost) return;
    if (!file.is_object()) continue;
    take_code(code, file);
    meta.mapped_files[{file.value("ino", std::uint64_t{0}), file.value("dev", 0u)}] = {
        file.value("path", ""), file.value("fs", ""), false, false};
  }
}

/// A later list replaces an earlier one, but it does not undo that a source was seen to run.
void take_sources(model::Meta& meta, const json& list) {
  constexpr std::size_t kMaxSources = 64;
  std::vector<model::Source> sources;
  for (const json& one : list) {
    if (!one.is_object() || sources.size() == kMaxSources) continue;
    auto time = [&](const char* key) -> model::TimeNs {
      const auto it = one.find(key);
      if (it == one.end() || !it->is_number_integer()) return 0;
      const auto value = it->get<model::TimeNs>();
      return value >= 0 && believable(value) ? value : 0;
    };
    const auto tested = one.find("tested");
    model::Source source{
        one.value("name", ""), one.value("state", ""),
        one.value("why", ""),  tested != one.end() && tested->is_boolean() && tested->get<bool>(),
        time("from_ns"),       time("until_ns")};
    for (const model::Source& before : meta.sources)
      source.tested |= before.name == source.name && before.tested;
    sources.push_back(std::move(source));
  }
  meta.sources = std::move(sources);
}

void take(model::Meta& meta, const json& j) {
  auto text = [&](const char* key, std::string& to) {
    if (auto it = j.find(key); it != j.end() && it->is_string()) to = it->get<std::string>();
  };
  auto time = [&](const char* key, model::TimeNs& to) {
    const auto it = j.find(key);
    if (it == j.end() || !it->is_number_integer()) return;
    const auto value = it->get<model::TimeNs>();
    if (value >= 0 && believable(value)) to = value;
  };
  text("whystall", meta.whystall);
  text("kernel", meta.kernel);
  text("host", meta.host);
  text("profile", meta.profile);
  text("clock", meta.clock);
  text("stopped_by", meta.stopped_by);
  text("driver_library", meta.driver_library);
  time("start_ns", meta.start_ns);
  time("end_ns", meta.end_ns);
  // Wall-clock time: only printed, and beyond what a monotonic clock can reach.
  if (const auto it = j.find("wall_start_ns"); it != j.end() && it->is_number_integer()) {
    meta.wall_start_ns = it->get<model::TimeNs>();
  }
  auto pid = [&](const char* key, model::Pid& to) {
    if (auto it = j.find(key); it != j.end() && it->is_number_unsigned())
      to = it->get<model::Pid>();
  };
  pid("whystall_pid", meta.whystall_pid);
  pid("helper_pid", meta.helper_pid);
  if (auto it = j.find("api_complete"); it != j.end() && it->is_boolean())
    meta.api_complete = it->get<bool>();
  if (auto it = j.find("api_symbols"); it != j.end() && it->is_array()) {
    meta.api_symbols.clear();
    for (const auto& s : *it) meta.api_symbols.push_back(s.is_string() ? s.get<std::string>() : "");
  }
  auto processes = [&](const char* key, std::vector<model::TargetProcess>& to) {
    const auto it = j.find(key);
    if (it == j.end() || !it->is_array()) return;
    to.clear();
    for (const auto& t : *it) {
      if (!t.is_object()) continue;
      to.push_back({pid_of(t), t.value("comm", ""), t.value("command", ""), driver_code_of(t)});
    }
  };
  processes("targets", meta.targets);
  processes("device_processes", meta.device_processes);
  time("api_until_ns", meta.api_until_ns);
  if (auto it = j.find("shed"); it != j.end() && it->is_array()) take_shed(meta, *it);
  if (auto it = j.find("sources"); it != j.end() && it->is_array()) take_sources(meta, *it);
  if (auto it = j.find("cost"); it != j.end() && it->is_array()) take_cost(meta, *it);
  if (auto it = j.find("mappings"); it != j.end()) take_mapped_files(meta, *it);
  if (auto it = j.find("nvml"); it != j.end()) take_nvml(meta.nvml, *it);
}

}  // namespace

/// nlohmann throws on a wrong type; nothing of it leaves this file.
bool read_meta(model::Meta& meta, std::span<const std::byte> chunk) {
  if (chunk.size() > kMaxMetaBytes) return false;
  try {
    const auto* text = reinterpret_cast<const char*>(chunk.data());
    const json j = json::parse(text, text + chunk.size());
    if (!j.is_object()) return false;
    take(meta, j);
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

model::DurationNs move_start(model::Meta& meta, model::TimeNs gone_until) {
  if (!believable(gone_until) || gone_until <= meta.start_ns) return 0;
  const model::DurationNs by = gone_until - meta.start_ns;
  meta.start_ns = gone_until;
  meta.wall_start_ns = later(meta.wall_start_ns, by);
  return by;
}

void close_window(model::Meta& meta, model::LoadStats& stats, model::TimeNs last_record) {
  if (meta.end_ns - meta.start_ns > kMaxWindow) {
    stats.bad_records++;
    meta.end_ns = 0;
  }
  if (meta.end_ns > meta.start_ns && meta.start_ns > 0) return;
  stats.no_end = true;
  meta.end_ns = std::max(meta.end_ns, last_record);
  if (meta.start_ns <= 0 || meta.end_ns < meta.start_ns) meta.end_ns = meta.start_ns;
  meta.end_ns = std::min(meta.end_ns, meta.start_ns + kMaxWindow);
}

}  // namespace whystall::load
