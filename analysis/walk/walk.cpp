// SPDX-License-Identifier: Apache-2.0
#include "walk/walk.h"

#include "walk/walker.h"

namespace whystall::walk {

Walks::Walks(const model::Recording& all, const timeline::Timeline& states)
    : recording(all),
      timeline(states),
      calls(all),
      polling(all),
      demand(all),
      interpreter_locks(all),
      ends(all),
      releasers(all, states, polling) {}

std::vector<model::Leaf> Walks::walk(const gaps::Gap& gap) const {
  Walker walker(*this, gap.confidence);
  walker.walk(gap.tid, gap.at, {});
  return walker.take_leaves();
}

}  // namespace whystall::walk
