// SPDX-License-Identifier: Apache-2.0
#include "evidence/losses.h"

#include <algorithm>
#include <map>

namespace whystall::evidence {

using model::Interval;
using model::TimeNs;

namespace {

constexpr model::DurationNs kLongestRunNs = WST_API_RUN_NS + WST_API_RUN_GAP_NS;

/// Where a thread stood at its last record.
struct Counted {
  std::uint32_t submits = 0;
  TimeNs at = 0;
};

}  // namespace

Losses::Losses(const model::Recording& recording, const std::vector<bool>& old) {
  for (const wst_loss& loss : recording.losses) {
    if (loss.loss_class != WST_LOST_API) continue;
    // A lost run bears the time of its first call.
    const auto [first, last] = std::minmax(loss.first_ns, loss.last_ns);
    lost_.push_back({static_cast<TimeNs>(first), static_cast<TimeNs>(last) + kLongestRunNs});
  }
  std::map<model::Tid, Counted> threads;
  for (std::size_t i = 0; i < recording.api.size(); i++) {
    const wst_api& call = recording.api[i];
    if (old[i] || call.count == 0 || call.ret == WST_API_OPEN) continue;  // 0: does not tell
    const auto at = static_cast<TimeNs>(std::max(call.h.ts, call.last_ns));
    const auto [known, first] = threads.try_emplace(call.tid);
    const std::uint32_t told = call.call == WST_API_SUBMIT ? call.count : 0;
    // Less than before: another thread of the same number.
    if (!first && call.submits >= known->second.submits + told &&
        call.submits - known->second.submits > told) {
      lost_.push_back({known->second.at, at + 1});
    }
    known->second = {call.submits, at};
  }
  lost_ = united(std::move(lost_));
}

TimeNs Losses::unseen_until(TimeNs at) const {
  TimeNs until = 0;
  for (const Interval& lost : lost_) {
    if (lost.lo <= at) until = std::max(until, lost.hi);
  }
  return until;
}

TimeNs Losses::first_after(TimeNs lo, TimeNs hi) const {
  for (const Interval& lost : lost_) {
    if (lost.hi > lo && lost.lo < hi) return std::max(lo, lost.lo);
  }
  return hi;
}

}  // namespace whystall::evidence
