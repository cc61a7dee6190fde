// SPDX-License-Identifier: Apache-2.0
#include "walk/walk.h"

#include "walk/walker.h"

namespace whystall::walk {

namespace {

Waits waits_of(const model::Recording& recording) {
  Waits waits;
  waits.see(recording);
  return waits;
}

}  // namespace

Walks::Walks(const model::Recording& all, const timeline::Timeline& states)
    : Walks(std::make_unique<const Facts>(all, waits_of(all)), states) {}

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
      open_waits(facts.waits.open),
      interpreter_locks(facts.waits.interpreter_locks),
      releasers(facts.recording, states, facts.polling) {}

std::vector<model::Leaf> Walks::walk(const gaps::Gap& gap) const {
  Walker walker(*this, gap.confidence);
  walker.walk(gap.tid, gap.at, {});
  return walker.take_leaves();
}

}  // namespace whystall::walk
