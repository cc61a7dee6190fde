// SPDX-License-Identifier: Apache-2.0
#include "gaps/gaps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "evidence/intervals.h"

namespace whystall::gaps {

namespace {

using evidence::Context;
using evidence::Intervals;
using evidence::State;
using evidence::Stretch;
using model::Interval;

Intervals of_state(const Context& context, State state) {
  Intervals found;
  for (const Stretch& s : context.stretches) {
    if (s.state == state) found.push_back(s.at);
  }
  return evidence::united(std::move(found));
}

model::DurationNs total(const Intervals& intervals) {
  model::DurationNs sum = 0;
  for (const Interval& i : intervals) sum += i.length();
  return sum;
}

std::vector<Gap> starved_gaps(const Context& context) {
  std::vector<Gap> found;
  for (const Stretch& s : context.stretches) {
    if (s.state == State::kStarved)
      found.push_back({s.at, context.pid, s.tid, s.open, s.confidence, s.proof});
  }
  return found;
}

std::vector<Gap> silent_gaps(const Context& context) {
  std::vector<Gap> found;
  for (const evidence::Silence& s : context.silences)
    found.push_back(
        {s.at, context.pid, s.tid, s.open, model::Confidence::kEstimated, evidence::kNoCall});
  return found;
}

/// What lies in gaps of both. It is ended by whichever ends first, and began with the later one.
std::vector<Gap> common(const std::vector<Gap>& a, const std::vector<Gap>& b) {
  std::vector<Gap> both;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const Gap& ends = a[i].at.hi <= b[j].at.hi ? a[i] : b[j];
    const Gap& begins = a[i].at.lo >= b[j].at.lo ? a[i] : b[j];
    Gap gap = ends;
    gap.at.lo = begins.at.lo;
    gap.proof = begins.proof;
    gap.confidence = worse(a[i].confidence, b[j].confidence);
    gap.open = a[i].at.hi == b[j].at.hi ? a[i].open && b[j].open : ends.open;
    if (gap.at.length() > 0) both.push_back(gap);
    (a[i].at.hi <= b[j].at.hi ? i : j)++;
  }
  return both;
}

/// Both by time and disjoint.
/// Both by time and disjoint.
std::vector<Gap> within(const std::vector<Gap>& gaps, const Intervals& where) {
  std::vector<Gap> parts;
  auto next = where.begin();
  for (const Gap& gap : gaps) {
    while (next != where.end() && next->hi <= gap.at.lo) ++next;
    for (auto here = next; here != where.end() && here->lo < gap.at.hi; ++here) {
      parts.push_back(gap);
      parts.back().at = {std::max(here->lo, gap.at.lo), std::min(here->hi, gap.at.hi)};
    }
  }
  return parts;
}

Device device_of(const std::vector<const Context*>& contexts, Interval window) {
  Device device;
  Intervals had_work, possibly;
  std::optional<std::vector<Gap>> gaps, silences;
  std::set<model::Pid> pids;
  for (const Context* context : contexts) {
    pids.insert(context->pid);
    const auto work = of_state(*context, State::kHadWork);
    had_work.insert(had_work.end(), work.begin(), work.end());
    possibly.insert(possibly.end(), context->possibly_starved.begin(),
                    context->possibly_starved.end());
    gaps = gaps ? common(*gaps, starved_gaps(*context)) : starved_gaps(*context);
    silences = silences ? common(*silences, silent_gaps(*context)) : silent_gaps(*context);
  }
  device.pids.assign(pids.begin(), pids.end());
  device.gaps = std::move(*gaps);
  Intervals known = evidence::united(std::move(had_work));
  device.had_work_ns = total(known);
  for (const Gap& gap : device.gaps) {
    device.starved_ns += gap.at.length();
    known.push_back(gap.at);
  }
  const auto not_known = evidence::without({window}, evidence::united(std::move(known)));
  device.not_known_ns = total(not_known);
  device.possibly_starved_ns =
      total(evidence::common(evidence::united(std::move(possibly)), not_known));
  device.silences = within(*silences, not_known);
  return device;
}

/// Those that are known to share one come together. Of one process, contexts of the same device
/// already are one.
std::vector<std::pair<int, std::vector<const Context*>>> by_device(
    const model::Recording& recording, const evidence::Evidence& evidence) {
  std::vector<std::pair<int, std::vector<const Context*>>> devices;
  std::map<int, std::size_t> known;
  for (const Context& context : evidence.contexts) {
    const int index = model::device_index(recording, context.pid);
    if (index < 0) {
      devices.push_back({index, {&context}});
      continue;
    }
    const auto [place, fresh] = known.try_emplace(index, devices.size());
    if (fresh) devices.push_back({index, {}});
    devices[place->second].second.push_back(&context);
  }
  return devices;
}

/// Nothing was called: a process that hangs, or has not begun. Who would have called is not known;
/// the main thread is what most programs call from, or wait in for those that do.
Device silent_device(const model::Recording& recording) {
  const model::Pid pid = model::device_user(recording.meta)->pid;
  const Interval window = recording.window();
  Device device;
  device.pids = {pid};
  device.index = model::device_index(recording, pid);
  device.not_known_ns = window.length();
  device.silences = {{window, pid, pid, true, model::Confidence::kEstimated, evidence::kNoCall}};
  return device;
}

}  // namespace

std::vector<Device> find_gaps(const model::Recording& recording,
                              const evidence::Evidence& evidence) {
  std::vector<Device> devices;
  for (const auto& [index, contexts] : by_device(recording, evidence)) {
    devices.push_back(device_of(contexts, evidence.window));
    devices.back().index = index;
  }
  if (devices.empty() && model::device_user(recording.meta))
    devices.push_back(silent_device(recording));
  return devices;
}

}  // namespace whystall::gaps
