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
/// The C library's stub of a system call is not longer, before and behind its instruction.
constexpr std::uint64_t kStubBytes = 16;

/// Whether one of `places` is so near.
bool is_near(const std::set<std::uint64_t>& places, std::uint64_t ip, std::uint64_t bytes) {
  const auto next = places.lower_bound(ip < bytes ? 0 : ip - bytes);
  return next != places.end() && *next - std::min(*next, ip) <= bytes;
}

/// Where a thread was seen to give the CPU away: a sample may fall between two such calls.
class Yields {
 public:
  void see(const wst_sample& yield) {
    callers_.insert(yield.ip);
    if (yield.stub_ip != 0) stubs_.insert(yield.stub_ip);
  }
  bool in_stub(const wst_sample& s) const {
    return s.nr < 0 && s.top != 0 && is_near(stubs_, s.ip, kStubBytes);
  }
  bool in_loop(const wst_sample& s) const {
    return s.nr < 0 && is_near(callers_, s.ip, kLoopBytes);
  }

 private:
  std::set<std::uint64_t> callers_, stubs_;
};

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
  std::unordered_map<model::Tid, Yields> yields;
  for (const wst_sample& s : recording.samples) {
    if (s.nr == WST_NR_SCHED_YIELD) yields[s.tid].see(s);
  }
  std::unordered_map<model::Tid, std::vector<Sample>> threads;
  for (wst_sample s : recording.samples) {
    const auto known = yields.find(s.tid);
    const bool in_stub = known != yields.end() && known->second.in_stub(s);
    if (in_stub) s.ip = s.top;
    // Of its own spins the driver's calls tell.
    if (model::in_driver(recording.meta, s)) continue;
    const bool yields_around = known != yields.end() && known->second.in_loop(s);
    const bool polls =
        s.nr == WST_NR_SCHED_YIELD || (s.flags & WST_SAMPLE_PAUSE) || in_stub || yields_around;
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
