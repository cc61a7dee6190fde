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
  bool yields;
};

/// Where a sample begins or ceases to be one of those around an instant.
struct Change {
  TimeNs at;
  int samples, yields;
};

std::vector<Interval> yielding_of(const std::vector<Sample>& samples) {
  std::vector<Change> changes;
  for (const Sample& s : samples) {
    const int yields = s.yields ? 1 : 0;
    changes.push_back({s.at - kBetweenSamples, 1, yields});
    changes.push_back({s.at + kBetweenSamples, -1, -yields});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  std::vector<Interval> found;
  std::ptrdiff_t around = 0, yield = 0;
  for (std::size_t i = 0; i < changes.size(); i++) {
    around += changes[i].samples;
    yield += changes[i].yields;
    if (i + 1 == changes.size() || changes[i + 1].at == changes[i].at) continue;
    if (around == 0 || yield * 2 < around) continue;
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
  for (const wst_sample& s : recording.samples)
    threads[s.tid].push_back({static_cast<TimeNs>(s.h.ts), s.nr == WST_NR_SCHED_YIELD});
  for (const auto& [tid, samples] : threads) {
    auto yielding = yielding_of(samples);
    if (!yielding.empty()) threads_[tid] = std::move(yielding);
  }
}

const std::vector<Interval>& Polling::yielding(model::Tid tid) const {
  static const std::vector<Interval> kNever;
  const auto found = threads_.find(tid);
  return found == threads_.end() ? kNever : found->second;
}

}  // namespace whystall::walk
