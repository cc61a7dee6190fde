// SPDX-License-Identifier: Apache-2.0
#include "evidence/held_up.h"

#include <algorithm>
#include <vector>

#include "evidence/calls.h"

namespace whystall::evidence {

using model::TimeNs;

namespace {

/// More than a launch takes when it need not wait.
constexpr model::DurationNs kLaunchNs = 100'000;
/// So many samples within so long: every launch is held up.
constexpr std::size_t kSamples = 3;
constexpr model::DurationNs kWithin = 100'000'000;

struct Sighting {
  TimeNs at;
  std::size_t call;
};

/// When the thread was last seen at the call.
TimeNs seen_at(const wst_api& call) {
  return call.call == WST_API_SUBMIT ? last_of(call) : time_of(call);
}

std::vector<const wst_sample*> samples_in_driver(const model::Recording& recording) {
  std::vector<const wst_sample*> samples;
  for (const wst_sample& sample : recording.samples) {
    if (sample.nr < 0 && model::in_driver(recording.meta, sample)) samples.push_back(&sample);
  }
  return samples;
}

/// Of the threads of these samples alone, in the order in which the threads were seen at them.
std::map<model::Tid, std::vector<std::size_t>> calls_of_threads(
    const model::Recording& recording, const std::vector<const wst_sample*>& samples) {
  std::map<model::Tid, std::vector<std::size_t>> calls;
  for (const wst_sample* sample : samples) calls.try_emplace(sample->tid);
  if (calls.empty()) return calls;
  for (std::size_t i = 0; i < recording.api.size(); i++) {
    const auto thread = calls.find(recording.api[i].tid);
    if (thread != calls.end()) thread->second.push_back(i);
  }
  for (auto& [tid, of_thread] : calls) {
    std::stable_sort(of_thread.begin(), of_thread.end(), [&](std::size_t a, std::size_t b) {
      return seen_at(recording.api[a]) < seen_at(recording.api[b]);
    });
  }
  return calls;
}

}  // namespace

std::map<std::size_t, TimeNs> held_up_submits(const model::Recording& recording) {
  std::map<model::Tid, std::vector<Sighting>> threads;
  const auto samples = samples_in_driver(recording);
  const auto calls = calls_of_threads(recording, samples);
  for (const wst_sample* sample : samples) {
    const auto& of_thread = calls.at(sample->tid);
    const auto at = static_cast<TimeNs>(sample->h.ts);
    const auto next = std::upper_bound(
        of_thread.begin(), of_thread.end(), at,
        [&](TimeNs t, std::size_t call) { return t < seen_at(recording.api[call]); });
    if (next == of_thread.begin()) continue;
    // A call that is timed and goes on at this time is the one that the thread is in.
    if (next != of_thread.end() && entry_of(recording.api[*next]) <= at) continue;
    const wst_api& last = recording.api[*std::prev(next)];
    if (last.call == WST_API_SUBMIT && at - seen_at(last) >= kLaunchNs)
      threads[sample->tid].push_back({at, *std::prev(next)});
  }
  std::map<std::size_t, TimeNs> held_up;
  for (auto& [tid, seen] : threads) {
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Sighting& a, const Sighting& b) { return a.at < b.at; });
    for (std::size_t i = 0; i + kSamples <= seen.size(); i++) {
      if (seen[i + kSamples - 1].at - seen[i].at > kWithin) continue;
      for (std::size_t j = i; j < i + kSamples; j++) {
        TimeNs& until = held_up[seen[j].call];
        until = std::max(until, seen[j].at);
      }
    }
  }
  return held_up;
}

}  // namespace whystall::evidence
