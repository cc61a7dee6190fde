// SPDX-License-Identifier: Apache-2.0
#include "ledger/devices.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "ledger/most_first.h"
#include "model/driver_call.h"

namespace whystall::ledger {

using model::DurationNs;

namespace {

/// What the host's list of devices and their own counters say of it.
void describe(model::DeviceTime& time, const gaps::Device& device, const model::Meta& meta) {
  const auto known = meta.nvml.devices.find(static_cast<std::uint32_t>(device.index));
  if (device.index < 0 || known == meta.nvml.devices.end()) return;
  time.index = device.index;
  time.pci_bus_id = known->second.pci_bus_id;
  time.uuid = known->second.uuid;
  time.name = known->second.name;
  time.nvml_busy = model::busy_share(meta.nvml, known->first, {meta.start_ns, meta.end_ns});
  for (const auto& [key, seen] : meta.nvml.processes) {
    const bool watched =
        std::find(device.pids.begin(), device.pids.end(), key.second) != device.pids.end();
    if (key.first == known->first && !watched) time.others.push_back(key.second);
  }
}

}  // namespace

std::vector<model::LongCalls> long_calls(const model::Recording& recording, const Names& names) {
  std::map<std::string, model::LongCalls> by_name;
  const model::Interval window = recording.window();
  for (const wst_api& call : recording.api) {
    const bool copies = call.call == WST_API_COPY || call.call == WST_API_SYNC_COPY;
    if ((!copies && call.call != WST_API_MEMORY) || call.ret == WST_API_OPEN) continue;
    const DurationNs ns = model::time_of(call) - model::entry_of(call);
    if (ns < static_cast<DurationNs>(WST_API_LONG_NS) || model::entry_of(call) < window.lo ||
        model::time_of(call) > window.hi)
      continue;
    model::LongCalls& all = by_name[names.call(call.symbol)];
    all.call = names.call(call.symbol);
    all.copies = copies;
    all.calls++;
    if (__builtin_add_overflow(all.bytes, call.bytes, &all.bytes)) all.bytes = 0;
    all.ns += ns;
    all.longest_ns = std::max(all.longest_ns, ns);
  }
  return most_time_first(by_name);
}

model::DeviceTime device_time(const gaps::Device& device, const model::Meta& meta) {
  model::DeviceTime time;
  describe(time, device, meta);
  time.starved_ns = device.starved_ns;
  time.had_work_ns = device.had_work_ns;
  time.not_known_ns = device.not_known_ns;
  for (const model::Pid pid : device.pids) {
    model::TargetProcess process{pid, "", ""};
    for (const auto* list : {&meta.targets, &meta.device_processes}) {
      for (const model::TargetProcess& known : *list) {
        if (known.pid == pid) process = known;
      }
    }
    time.processes.push_back(std::move(process));
  }
  return time;
}

}  // namespace whystall::ledger
