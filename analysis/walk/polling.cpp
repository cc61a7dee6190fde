// SPDX-License-Identifier: Apache-2.0
#include "walk/polling.h"

#include <algorithm>
#include <utility>

#include "abi/syscalls.h"

namespace whystall::walk {

using model::Interval;
using model::TimeNs;

namespace {

/// Two samples of a thread that never leaves the CPU lie so far apart.
constexpr model::DurationNs kBetweenSamples = 10'200'000;

struct Sample {
  TimeNs at;
  bool polls;
};

/// Where a sample begins or ceases to be one of those around an instant.
struct Change {
  TimeNs at;
  int samples, polls;
};

std::vector<Interval> polling_of(const std::vector<Sample>& samples) {
  std::vector<Change> changes;
  for (const Sample& s : samples) {
    const int polls = s.polls ? 1 : 0;
    changes.push_back({s.at - kBetweenSamples, 1, polls});
    changes.push_back({s.at + kBetweenSamples, -1, -polls});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  std::vector<Interval> found;
  std::ptrdiff_t around = 0, poll = 0;
  for (std::size_t i = 0; i < changes.size(); i++) {
    around += changes[i].samples;
    poll += changes[i].polls;
    if (i + 1 == changes.size() || changes[i + 1].at == changes[i].at) continue;
    if (around == 0 || poll * 2 < around) continue;
    const Interval at{changes[i].at, changes[i + 1].at};
    if (!found.empty() && found.back().hi == at.lo)
      found.back().hi = at.hi;
    else
      found.push_back(at);
  }
  return found;
}

}  // namespace

Polling::Polling(const model::Recording& recording) {
  std::unordered_map<model::Tid, std::vector<Sample>> threads;
  // Of its own spins the driver's calls tell.
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
    threads[s.tid].push_back({static_cast<TimeNs>(s.h.ts), polls});
  }
  for (const auto& [tid, samples] : threads) {
    auto polling = polling_of(samples);
    if (!polling.empty()) threads_[tid] = std::move(polling);
  }
}

const std::vector<Interval>& Polling::times(model::Tid tid) const {
  static const std::vector<Interval> kNever;
  const auto found = threads_.find(tid);
  return found == threads_.end() ? kNever : found->second;
}

bool Polling::polls(model::Tid tid, TimeNs at) const {
  const auto& all = times(tid);
  const auto next = std::lower_bound(all.begin(), all.end(), at,
                                     [](const Interval& i, TimeNs t) { return i.hi <= t; });
  return next != all.end() && next->lo <= at;
}

}  // namespace whystall::walk
