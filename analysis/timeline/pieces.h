// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "timeline/piece.h"

namespace whystall::timeline {

inline model::TimeNs time(std::uint64_t ns) {
  return static_cast<model::TimeNs>(ns);
}

/// Adds `like` for `at`, less what the last piece already covers.
void add_piece(std::vector<Piece>& pieces, model::Interval at, Piece like);

/// One stay off the CPU as intervals that follow each other; each may be empty.
struct Stay {
  model::Interval run, blocked, runnable;
  model::TimeNs end = 0;
};
/// The run before it, if that is known, then blocked, then runnable: whatever the record says, none
/// of it after h.ts.
Stay stay_of(const wst_wait& wait);

/// Adds a stay by time, less what the last piece already covers.
void add_stay(std::vector<Piece>& pieces, const wst_wait& wait);

/// Adds a stay to pieces that are in falling order of time and lie after it.
void push_stay(std::vector<Piece>& pieces, const Stay& stay, const wst_wait& wait, bool faulted);

}  // namespace whystall::timeline
