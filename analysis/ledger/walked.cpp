// SPDX-License-Identifier: Apache-2.0
#include "ledger/walked.h"

#include <algorithm>
#include <utility>

namespace whystall::ledger {

using model::Cause;
using model::Interval;

void Walked::add(const gaps::Gap& gap, bool micro) {
  const std::size_t number = gaps_++;
  if (!micro) {
    to_walk_.push_back({number, &gap});
    return;
  }
  for (Charges* charges : {&path_, &by_lineage_}) {
    charges->add({{gap.at, Cause::kGpuLaunch, gap.confidence, {.pid = gap.pid}, {}}}, number,
                 gap.pid);
    charges->close(number, gap.at, gap.pid);
  }
}

/// Those gaps come first that end last.
void Walked::sort() {
  if (std::exchange(sorted_, true)) return;
  std::stable_sort(to_walk_.begin(), to_walk_.end(), [](const Numbered& a, const Numbered& b) {
    return a.gap->at.hi > b.gap->at.hi;
  });
}

void Walked::walk(const walk::Walks& walks, Interval slab) {
  sort();
  for (; next_ < to_walk_.size() && to_walk_[next_].gap->at.hi > slab.lo; next_++)
    open_.push_back(to_walk_[next_]);
  std::erase_if(open_, [&](const Numbered& one) {
    gaps::Gap part = *one.gap;
    part.at = {std::max(part.at.lo, slab.lo), std::min(part.at.hi, slab.hi)};
    auto leaves = walks.walk(part);
    if (!path_only_)
      lineage_.add(walks, {one.number, part.pid, one.gap->at, part.confidence}, leaves);
    path_.add(std::move(leaves), one.number, part.pid);
    if (one.gap->at.lo < slab.lo) return false;
    path_.close(one.number, one.gap->at, one.gap->pid);
    return true;
  });
  lineage_.go_back(walks, slab);
  take_answers();
}

void Walked::finish() {
  lineage_.finish();
  take_answers();
}

void Walked::take_answers() {
  lineage::Answer answer;
  while (lineage_.take(answer)) {
    std::reverse(answer.leaves.begin(), answer.leaves.end());
    by_lineage_.add(std::move(answer.leaves), answer.number, answer.launcher);
    by_lineage_.close(answer.number, answer.at, answer.launcher);
  }
}

}  // namespace whystall::ledger
