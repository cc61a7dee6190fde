// SPDX-License-Identifier: Apache-2.0
#include "load/nvml.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "load/believable.h"

namespace whystall::load {

namespace {

using model::Nvml;
using model::TimeNs;
using nlohmann::json;

constexpr std::uint32_t kMaxDevices = 64;
constexpr std::size_t kMaxProcesses = 1u << 16;
/// What 8 devices give in 29 hours; 64 MiB.
constexpr std::size_t kMaxSamples = 1u << 22;
constexpr std::size_t kMaxText = 200;

std::optional<std::uint64_t> number(const json& of, const char* key, std::uint64_t most) {
  const auto it = of.find(key);
  if (it == of.end() || !it->is_number_unsigned() || it->get<std::uint64_t>() > most)
    return std::nullopt;
  return it->get<std::uint64_t>();
}

std::optional<TimeNs> time(const json& of, const char* key) {
  const auto value = number(of, key, kMaxTime);
  return value ? std::optional(static_cast<TimeNs>(*value)) : std::nullopt;
}

std::optional<std::uint32_t> device_in(const json& of, const char* key = "device") {
  const auto value = number(of, key, kMaxDevices - 1);
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

void take_text(const json& of, const char* key, std::string& to) {
  const auto it = of.find(key);
  if (it != of.end() && it->is_string()) to = it->get_ref<const std::string&>().substr(0, kMaxText);
}

bool take_device(Nvml& nvml, const json& j) {
  const auto index = device_in(j, "index");
  if (!index) return false;
  Nvml::Device& device = nvml.devices[*index];
  take_text(j, "uuid", device.uuid);
  take_text(j, "pci_bus_id", device.pci_bus_id);
  take_text(j, "name", device.name);
  if (const auto minor = number(j, "minor", UINT32_MAX))
    device.minor = static_cast<std::uint32_t>(*minor);
  return true;
}

bool take_sample(Nvml& nvml, const json& j) {
  const auto device = device_in(j);
  const auto t = time(j, "t_ns");
  const auto gpu = number(j, "gpu_percent", 100), memory = number(j, "memory_percent", 100);
  if (!device || !t || !gpu || !memory || nvml.samples.size() >= kMaxSamples) return false;
  nvml.samples.push_back(
      {*t, *device, static_cast<std::uint8_t>(*gpu), static_cast<std::uint8_t>(*memory)});
  return true;
}

bool take_memory(Nvml& nvml, const json& j) {
  const auto device = device_in(j);
  const auto used = number(j, "used_bytes", UINT64_MAX),
             total = number(j, "total_bytes", UINT64_MAX);
  if (!device || !used || !total || *used > *total) return false;
  Nvml::Device& known = nvml.devices[*device];
  known.memory_bytes = *total;
  known.most_used_bytes = std::max(known.most_used_bytes, *used);
  return true;
}

bool take_process(Nvml& nvml, const json& j) {
  const auto device = device_in(j);
  const auto pid = number(j, "pid", UINT32_MAX);
  const auto first = time(j, "first_ns"), last = time(j, "last_ns");
  if (!device || !pid || *pid == 0 || !first || !last || *first > *last) return false;
  const Nvml::DeviceAndPid key{*device, static_cast<model::Pid>(*pid)};
  if (nvml.processes.size() >= kMaxProcesses && !nvml.processes.contains(key)) return false;
  const auto [entry, added] = nvml.processes.try_emplace(key, Nvml::Seen{*first, *last});
  entry->second.first_ns = std::min(entry->second.first_ns, *first);
  entry->second.last_ns = std::max(entry->second.last_ns, *last);
  return true;
}

}  // namespace

void take_nvml(Nvml& nvml, const json& piece) {
  if (!piece.is_object()) return;
  if (const auto at = time(piece, "at_ns"); at && *at >= nvml.state_ns) {
    nvml.state_ns = *at;
    take_text(piece, "state", nvml.state);
    take_text(piece, "why", nvml.why);
  }
  const auto each = [&](const char* key, bool (*take)(Nvml&, const json&)) {
    const auto list = piece.find(key);
    if (list == piece.end() || !list->is_array()) return;
    for (const json& entry : *list) {
      if (!entry.is_object() || !take(nvml, entry)) nvml.left_out++;
    }
  };
  each("devices", take_device);
  each("samples", take_sample);
  each("memory", take_memory);
  each("processes", take_process);
}

void sort_samples(Nvml& nvml) {
  std::stable_sort(nvml.samples.begin(), nvml.samples.end(),
                   [](const auto& a, const auto& b) { return a.t_ns < b.t_ns; });
}

}  // namespace whystall::load
