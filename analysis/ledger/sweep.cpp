// SPDX-License-Identifier: Apache-2.0
#include "ledger/sweep.h"

#include <algorithm>
#include <unordered_map>

namespace whystall::ledger {

using model::Interval;
using model::Tid;
using model::TimeNs;

namespace {

using LastMoves = std::unordered_map<Tid, wst_migrate>;

void take_last(LastMoves& last, const wst_migrate& move) {
  const auto [known, fresh] = last.try_emplace(move.tid, move);
  if (!fresh && known->second.h.ts <= move.h.ts) known->second = move;
}

/// From the last moves in each slab.
std::vector<std::vector<wst_migrate>> before_each(const std::vector<LastMoves>& in) {
  std::vector<std::vector<wst_migrate>> before;
  LastMoves last;
  for (const LastMoves& slab : in) {
    auto& all = before.emplace_back();
    for (const auto& [tid, move] : last) all.push_back(move);
    for (const auto& [tid, move] : slab) take_last(last, move);
  }
  return before;
}

}  // namespace

Interval Sweep::at(std::size_t slab) const {
  const auto slabs = source_.slabs();
  const TimeNs end = slab + 1 < slabs.size() ? slabs[slab + 1] : std::numeric_limits<TimeNs>::max();
  return {slabs[slab], end};
}

std::size_t Sweep::slab_of(TimeNs t) const {
  const auto slabs = source_.slabs();
  const auto next = std::upper_bound(slabs.begin(), slabs.end(), t);
  return static_cast<std::size_t>(next - slabs.begin()) - 1;  // the first begins before all
}

Result<Survey> Sweep::survey() {
  Survey survey;
  const auto threads = evidence::callers(source_.whole().api);
  const std::size_t slabs = source_.slabs().size();
  std::vector<LastMoves> moves(slabs);
  timeline::Later later;
  if (const auto kept = slabs > 1 ? source_.take_callers() : nullptr) {
    survey.history.add_births(kept->waits);
    constexpr Interval kAlways{std::numeric_limits<TimeNs>::min() / 2,
                               std::numeric_limits<TimeNs>::max() / 2};
    const timeline::Timeline timeline(timeline::Slab{*kept, kAlways.lo, later}, &threads);
    survey.history.add_before(timeline, kAlways, threads);
    survey.history.finish();
    for (const wst_migrate& move : kept->migrations)
      take_last(moves[slab_of(static_cast<TimeNs>(move.h.ts))], move);
    survey.moved_before = before_each(moves);
    return survey;
  }
  for (std::size_t slab = slabs; slab-- > 0;) {
    auto records = source_.states(slab, timeline::kBetweenWaits, slabs == 1 ? nullptr : &threads);
    if (!records) return records.error();
    survey.history.add_births((*records)->waits);
    if (slabs == 1) {
      whole_ = std::make_unique<timeline::Timeline>(**records);
      survey.history.add_before(*whole_, at(slab), threads);
      break;
    }
    for (const wst_migrate& move : (*records)->migrations) {
      if (static_cast<TimeNs>(move.h.ts) >= at(slab).lo) take_last(moves[slab], move);
    }
    timeline::Timeline timeline(timeline::Slab{**records, at(slab).lo, later}, &threads);
    survey.history.add_before(timeline, at(slab), threads);
    timeline::Later next = timeline.take_later();
    later = std::move(next);
  }
  survey.history.finish();
  survey.moved_before = before_each(moves);
  return survey;
}

}  // namespace whystall::ledger
