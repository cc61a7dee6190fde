// SPDX-License-Identifier: Apache-2.0
#include "walk/polling.h"

#include <algorithm>
#include <set>
#include <utility>

#include "abi/syscalls.h"
#include "evidence/intervals.h"

namespace whystall::walk {

using model::Interval;
using model::TimeNs;

namespace {

/// Two samples of a thread that never leaves the CPU lie so far apart.
constexpr model::DurationNs kBetweenSamples = 10'200'000;
/// Of one that waits in between, in the driver or elsewhere, two that say the same speak for what
/// lies between them, if that is not longer.
constexpr model::DurationNs kMostBetween = 50'000'000;

/// A loop that only waits is not longer.
constexpr std::uint64_t kLoopBytes = 128;

struct Sample {
  TimeNs at;
  bool polls;
};

/// Where a sample begins or ceases to be one of those around an instant.
struct Change {
  TimeNs at;
  int samples, polls;
};

std::vector<Interval> polling_of(std::vector<Sample> samples) {
  std::sort(samples.begin(), samples.end(),
            [](const Sample& a, const Sample& b) { return a.at < b.at; });
  std::vector<Change> changes;
  for (const Sample& s : samples) {
    const int polls = s.polls ? 1 : 0;
    changes.push_back({s.at - kBetweenSamples, 1, polls});
    changes.push_back({s.at + kBetweenSamples, -1, -polls});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  std::vector<Interval> found;
  for (std::size_t i = 1; i < samples.size(); i++) {
    if (samples[i - 1].polls && samples[i].polls &&
        samples[i].at - samples[i - 1].at < kMostBetween)
      found.push_back({samples[i - 1].at, samples[i].at});
  }
  std::ptrdiff_t around = 0, poll = 0;
  for (std::size_t i = 0; i < changes.size(); i++) {
    around += changes[i].samples;
    poll += changes[i].polls;
    if (i + 1 == changes.size() || changes[i + 1].at == changes[i].at) continue;
    if (around == 0 || poll * 2 < around) continue;
    found.push_back({changes[i].at, changes[i + 1].at});
  }
  return evidence::united(std::move(found));
}

}  // namespace

Polling::Polling(const model::Recording& recording) {
  std::unordered_map<model::Tid, std::vector<Sample>> threads;
  std::unordered_map<model::Tid, std::set<std::uint64_t>> yields;
  for (const wst_sample& s : recording.samples) {
    if (s.nr == WST_NR_SCHED_YIELD) yields[s.tid].insert(s.ip);
  }
  // Beside a call of sched_yield: in the same loop.
  const auto around_yield = [&](const wst_sample& s) {
    const auto known = yields.find(s.tid);
    if (known == yields.end() || s.nr >= 0) return false;
    const auto next = known->second.lower_bound(s.ip < kLoopBytes ? 0 : s.ip - kLoopBytes);
    return next != known->second.end() && *next <= s.ip + kLoopBytes;
  };
  for (const wst_sample& s : recording.samples) {
    // Of its own spins the driver's calls tell.
    if (model::in_driver(recording.meta, s)) continue;
    const bool polls =
        s.nr == WST_NR_SCHED_YIELD || (s.flags & WST_SAMPLE_PAUSE) || around_yield(s);
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

}  // namespace whystall::walk
