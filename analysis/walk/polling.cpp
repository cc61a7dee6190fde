// SPDX-License-Identifier: Apache-2.0
#include "walk/polling.h"

#include <algorithm>

#include "abi/syscalls.h"

namespace whystall::walk {

using model::Interval;
using model::TimeNs;

namespace {

/// Two samples of a thread that never leaves the CPU lie so far apart.
constexpr model::DurationNs kBetweenSamples = 10'200'000;

}  // namespace

Polling::Polling(const model::Recording& recording) {
  const auto in_driver = [&](const wst_sample& s) {
    for (const model::TargetProcess& process : recording.meta.device_processes) {
      if (process.pid != s.tgid) continue;
      for (const auto& [lo, hi] : process.driver_code) {
        if (s.ip >= lo && s.ip < hi) return true;
      }
    }
    return false;
  };
  for (const wst_sample& s : recording.samples) {
    if (in_driver(s)) continue;
    const bool polls = s.nr == WST_NR_SCHED_YIELD || (s.flags & WST_SAMPLE_PAUSE);
    threads_[s.tid].push_back({static_cast<TimeNs>(s.h.ts), polls});
  }
  for (auto& [tid, samples] : threads_)
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.at < b.at; });
}

bool Polling::polls(model::Tid tid, Interval at) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return false;
  const auto& samples = found->second;
  auto next = std::lower_bound(samples.begin(), samples.end(), at.lo - kBetweenSamples,
                               [](const Sample& s, TimeNs t) { return s.at < t; });
  std::size_t all = 0, polling = 0;
  for (; next != samples.end() && next->at < at.hi + kBetweenSamples; ++next) {
    all++;
    polling += next->polls;
  }
  return all > 0 && polling * 2 >= all;
}

}  // namespace whystall::walk
