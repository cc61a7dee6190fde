// SPDX-License-Identifier: Apache-2.0
#include "walk/walk.h"

#include <utility>

#include "walk/walker.h"

namespace whystall::walk {

namespace {

/// Of those waits that were not told apart while they were read, and of those that are there.
model::LastWakes last_wakes_of(const model::Recording& recording) {
  model::LastWakes last = recording.last_wakes;
  for (const wst_wait& wait : recording.waits) last.see(wait);
  for (const model::Sums& sums : recording.sums) {
    for (const wst_sum& sum : sums.entries) last.see(sums.head, sum);
  }
  return last;
}

model::ExpiredWaits expired_waits_of(const model::Recording& recording) {
  model::ExpiredWaits expired = recording.expired_waits;
  for (const wst_wait& wait : recording.waits) expired.see(wait);
  return expired;
}

}  // namespace

Facts::Facts(const model::Recording& all)
    : recording(all),
      calls(all),
      polling(all),
      demand(all),
      ends(all),
      last_wakes(last_wakes_of(all)),
      interpreter_locks(all, expired_waits_of(all)) {}

Walks::Walks(const model::Recording& all, const timeline::Timeline& states)
    : Walks(std::make_unique<const Facts>(all), states) {}

Walks::Walks(std::unique_ptr<const Facts> own, const timeline::Timeline& states)
    : Walks(*own, states) {
  own_ = std::move(own);
}

Walks::Walks(const Facts& facts, const timeline::Timeline& states)
    : recording(facts.recording),
      timeline(states),
      calls(facts.calls),
      polling(facts.polling),
      demand(facts.demand),
      ends(facts.ends),
      last_wakes(facts.last_wakes),
      interpreter_locks(facts.interpreter_locks),
      releasers(facts.recording, states, facts.polling) {}

std::vector<model::Leaf> Walks::walk(const gaps::Gap& gap) const {
  Walker walker(*this, gap.confidence);
  walker.walk(gap.tid, gap.at, {});
  return walker.take_leaves();
}

std::vector<model::Leaf> Walks::past(model::Tid tid, model::Interval at,
                                     const std::vector<model::Hop>& waited) const {
  Walker walker(*this, model::Confidence::kProven);
  walker.came_through(waited);
  walker.walk(tid, at, {});
  return walker.take_leaves();
}

}  // namespace whystall::walk
