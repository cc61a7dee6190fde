// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "timeline/timeline.h"

namespace whystall::timeline {

inline model::TimeNs time(std::uint64_t ns) {
  return static_cast<model::TimeNs>(ns);
}

/// Adds `like` for `at`, less what the last piece already covers.
void add_piece(std::vector<Piece>& pieces, model::Interval at, Piece like);

/// Adds one stay off the CPU: the run before it, if that is known, then blocked, then runnable.
void add_stay(std::vector<Piece>& pieces, const wst_wait& wait);

}  // namespace whystall::timeline
