// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "evidence/evidence.h"
#include "evidence/intervals.h"
#include "evidence/work.h"

namespace whystall::evidence {

/// Contexts of one device, or of devices that are not told apart.
struct Group {
  std::int64_t device = -1;
  std::vector<ContextId> contexts;  // empty: all
  std::optional<Stretch> starved;   // the one that goes on
  std::vector<Stretch> parts;       // of it, those that are over: it has become more certain
  std::vector<Stretch> stretches;   // starved ones
  Intervals pending, late, in_doubt;

  bool has(ContextId context) const {
    return contexts.empty() ||
           std::find(contexts.begin(), contexts.end(), context) != contexts.end();
  }
};

/// What was found of a group, as states that cover `window`. Outside `watched`, and in `losses`,
/// nothing is claimed.
Context states_of(const Group& group, model::Pid pid, model::Interval window,
                  model::Interval watched, const Intervals& losses,
                  const std::vector<Silence>& silences);

}  // namespace whystall::evidence
