// SPDX-License-Identifier: Apache-2.0
#include "capture/nvml_facts.h"

#include <algorithm>

namespace whystall::capture {

namespace {

using nlohmann::json;

constexpr std::uint32_t kMaxDevices = 64;
constexpr std::size_t kMaxText = 200;
/// Of what waits to be written, each second 64 devices make 320 samples.
constexpr std::size_t kMaxWaiting = 4096;
constexpr DurationNs kRepeatEvery = 10 * kSecond;

std::string bounded(std::string_view text) {
  return std::string(text.substr(0, kMaxText));
}

}  // namespace

void NvmlFacts::take_line(std::string_view line) {
  const json parsed = json::parse(line, nullptr, false);
  if (!parsed.is_object()) {
    last_words_ = bounded(line);
    return;
  }
  // The helper's own text has the right types; anything else in it throws.
  try {
    take_known(parsed);
  } catch (const json::exception&) {
    last_words_ = "a line of the NVML helper could not be read";
  }
}

void NvmlFacts::take_known(const json& line) {
  if (line.contains("missing")) take_missing(line["missing"].get<std::string>());
  if (line.contains("device")) take_device(line["device"]);
  if (line.contains("sample")) take_sample(line["sample"]);
  if (line.contains("memory")) take_memory(line["memory"]);
  if (line.contains("processes")) take_processes(line["processes"]);
  if (!line.contains("dropped") || !degraded_.empty()) return;
  const json& dropped = line["dropped"];
  degraded_ = "device " + std::to_string(dropped.at("device").get<std::uint32_t>()) + ": " +
              bounded(dropped.at("why").get<std::string>());
  changed_ = true;
}

void NvmlFacts::take_missing(std::string_view why) {
  missing_ = bounded(why);
  changed_ = true;
}

void NvmlFacts::take_end(std::string_view how) {
  if (!missing_.empty()) return;
  const std::string text =
      "the NVML helper " + std::string(how) + (last_words_.empty() ? "" : ": " + last_words_);
  if (live_)
    degraded_ = bounded(text);
  else
    missing_ = bounded(text);
  changed_ = true;
}

void NvmlFacts::take_device(const json& device) {
  const auto index = device.at("index").get<std::uint32_t>();
  if (index >= kMaxDevices) return;
  json known = {{"index", index}};
  for (const char* key : {"uuid", "pci_bus_id", "name"}) {
    if (device.contains(key)) known[key] = bounded(device[key].get<std::string>());
  }
  if (device.contains("minor")) known["minor"] = device["minor"].get<std::uint32_t>();
  devices_[index] = std::move(known);
  live_ = changed_ = true;
}

void NvmlFacts::take_sample(const json& sample) {
  const auto before = sample.at("before_ns").get<TimeNs>();
  const auto after = sample.at("after_ns").get<TimeNs>();
  reading_sum_ns_ += static_cast<double>(std::max<DurationNs>(0, after - before));
  readings_++;
  if (samples_.size() >= kMaxWaiting) return;
  // The value was there when the call returned at the latest, and was no newer than that.
  samples_.push_back({{"t_ns", after},
                      {"took_ns", after - before},
                      {"device", sample.at("device").get<std::uint32_t>()},
                      {"gpu_percent", sample.at("gpu_percent").get<std::uint32_t>()},
                      {"memory_percent", sample.at("memory_percent").get<std::uint32_t>()}});
}

void NvmlFacts::take_memory(const json& memory) {
  if (memory_.size() >= kMaxWaiting) return;
  memory_.push_back({{"t_ns", memory.at("t_ns").get<TimeNs>()},
                     {"device", memory.at("device").get<std::uint32_t>()},
                     {"used_bytes", memory.at("used_bytes").get<std::uint64_t>()},
                     {"total_bytes", memory.at("total_bytes").get<std::uint64_t>()}});
}

void NvmlFacts::take_processes(const json& look) {
  const auto device = look.at("device").get<std::uint32_t>();
  const auto t = look.at("t_ns").get<TimeNs>();
  for (const json& pid : look.at("pids")) {
    const auto number = pid.get<std::uint32_t>();
    const auto known = std::find_if(processes_.begin(), processes_.end(), [&](const json& p) {
      return p["device"] == device && p["pid"] == number;
    });
    if (known != processes_.end())
      (*known)["last_ns"] = t;
    else if (processes_.size() < kMaxWaiting)
      processes_.push_back({{"device", device}, {"pid", number}, {"first_ns", t}, {"last_ns", t}});
  }
}

json NvmlFacts::take_piece(TimeNs now) {
  json piece = json::object();
  if (changed_ || now >= next_repeat_) {
    changed_ = false;
    next_repeat_ = now + kRepeatEvery;
    const SourceReport source = report();
    piece = {{"at_ns", now}, {"state", state_name(source.state)}, {"why", source.why}};
    json devices = json::array();
    for (const auto& [index, device] : devices_) devices.push_back(device);
    piece["devices"] = std::move(devices);
  }
  for (const auto& [key, list] :
       {std::pair{"samples", &samples_}, {"memory", &memory_}, {"processes", &processes_}}) {
    if (list->empty()) continue;
    piece[key] = std::move(*list);
    *list = json::array();
  }
  return piece.empty() ? json() : json{{"nvml", std::move(piece)}};
}

SourceReport NvmlFacts::report() const {
  if (!missing_.empty()) {
    const bool no_library = missing_.ends_with("is not installed");
    return {SourceState::kMissing, missing_,
            no_library ? "NVIDIA's library, or WHYSTALL_NVML_LIBRARY=PATH" : ""};
  }
  if (!live_) return {SourceState::kMissing, "NVML has not answered yet", ""};
  if (!degraded_.empty()) return {SourceState::kDegraded, degraded_, ""};
  return {SourceState::kLive, "", ""};
}

double NvmlFacts::reading_ns() const {
  return readings_ ? reading_sum_ns_ / static_cast<double>(readings_) : -1;
}

}  // namespace whystall::capture
