// SPDX-License-Identifier: Apache-2.0
#include "evidence/group.h"

#include <utility>

namespace whystall::evidence {

using model::Confidence;
using model::Interval;

Context states_of(const Group& group, model::Pid pid, Interval window, Interval watched,
                  const Intervals& losses, const std::vector<Silence>& silences) {
  Context context{pid, group.device, {}, {}, silences};
  std::vector<Interval> proven;
  for (const Stretch& s : group.stretches) {
    if (s.confidence == Confidence::kProven) proven.push_back(s.at);
  }
  const auto pending = without(clipped(united(group.pending), watched), losses);
  // Both cannot be: then one of them rests on what did not happen so, and neither is claimed.
  const auto neither = common(pending, united(std::move(proven)));
  auto in_doubt = group.in_doubt;
  in_doubt.insert(in_doubt.end(), pending.begin(), pending.end());
  in_doubt = united(std::move(in_doubt));
  auto known = without(pending, neither);
  for (const Interval& at : known) context.stretches.push_back({at, State::kHadWork});
  for (const Stretch& s : group.stretches) {
    const bool likely = s.confidence == Confidence::kLikely;
    for (const Interval& part : without({s.at}, likely ? in_doubt : neither)) {
      Stretch piece = s;
      piece.at = part;
      context.stretches.push_back(piece);
      known.push_back(part);
    }
  }
  known = united(std::move(known));
  for (const Interval& at : without({window}, known))
    context.stretches.push_back({at, State::kNotKnown});
  std::stable_sort(context.stretches.begin(), context.stretches.end(),
                   [](const Stretch& a, const Stretch& b) { return a.at.lo < b.at.lo; });
  context.possibly_starved = without(clipped(united(group.late), watched), known);
  return context;
}

}  // namespace whystall::evidence
