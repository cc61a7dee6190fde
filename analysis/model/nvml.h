// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/time.h"

namespace whystall::model {

/// What the devices said of themselves, through NVML, while the recording was made.
struct Nvml {
  struct Device {
    std::string uuid;
    std::string pci_bus_id;
    std::string name;
    std::optional<std::uint32_t> minor;  // of /dev/nvidiaN
    std::uint64_t memory_bytes = 0;      // 0: not told
    std::uint64_t most_used_bytes = 0;   // of what was seen
  };
  struct Sample {
    TimeNs t_ns = 0;  // the call returned; what it tells ended then or up to a period before
    std::uint32_t device = 0;
    std::uint8_t gpu_percent = 0;     // of the driver's last period, in which a kernel ran
    std::uint8_t memory_percent = 0;  // ... in which device memory was in use
  };
  struct Seen {
    TimeNs first_ns = 0;
    TimeNs last_ns = 0;
  };
  using DeviceAndPid = std::pair<std::uint32_t, Pid>;

  std::string state;  // "live", "degraded", "missing"; empty: the recording says nothing of it
  std::string why;
  TimeNs state_ns = 0;  // since when at the latest it has been so
  std::map<std::uint32_t, Device> devices;
  std::vector<Sample> samples;  // by time
  std::map<DeviceAndPid, Seen> processes;
  std::uint64_t left_out = 0;  // entries that could not be, or were too many
};

/// The driver's period is 1/6 to 1 s, and which one is not told.
constexpr DurationNs kNvmlPeriod = 1'000'000'000;

/// How much of an interval the device says that it was busy, 0 to 1: the mean of the samples that
/// speak of this interval alone. A sample is taken to speak of the second before it. Nothing when
/// samples are missing for more than half of the interval, so also for one below a second.
///
/// What "busy" means is the driver's: a kernel runs, of whatever process; copies do not count.
inline std::optional<double> busy_share(const Nvml& nvml, std::uint32_t device,
                                        const Interval& interval) {
  std::uint64_t percent = 0, count = 0;
  DurationNs told = 0;
  TimeNs told_until = interval.lo;
  auto sample = std::lower_bound(nvml.samples.begin(), nvml.samples.end(), interval.lo,
                                 [](const auto& s, TimeNs lo) { return s.t_ns < lo; });
  for (; sample != nvml.samples.end() && sample->t_ns <= interval.hi; ++sample) {
    if (sample->device != device || sample->t_ns - interval.lo < kNvmlPeriod) continue;
    percent += sample->gpu_percent;
    count++;
    told += sample->t_ns - std::max(told_until, sample->t_ns - kNvmlPeriod);
    told_until = sample->t_ns;
  }
  if (count == 0 || told < interval.length() / 2) return std::nullopt;
  return static_cast<double>(percent) / (100.0 * static_cast<double>(count));
}

/// The devices on which a process was seen, by index.
inline std::vector<std::uint32_t> devices_of(const Nvml& nvml, Pid pid) {
  std::vector<std::uint32_t> devices;
  for (const auto& [key, seen] : nvml.processes) {
    if (key.second == pid) devices.push_back(key.first);
  }
  return devices;
}

}  // namespace whystall::model
