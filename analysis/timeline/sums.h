// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "timeline/timeline.h"

namespace whystall::timeline {

/// The sums of each thread, by time. A snapshot that a later record repeats is left out.
std::map<model::Tid, std::vector<const model::Sums*>> sums_by_thread(
    const model::Recording& recording);

/// Pieces for the time that the sums of one thread cover. The last wait of each entry is known
/// exactly; where there were earlier ones, the rest is a mixed piece, else a run. What the pieces
/// refer to is put into `waits` and `mixes`.
std::vector<Piece> pieces_of_sums(const std::vector<const model::Sums*>& sums,
                                  std::deque<wst_wait>& waits, std::deque<Mix>& mixes);

/// `base` with its runs, and what it does not cover, replaced by what `finer` tells of them. Both
/// sorted and without overlap.
std::vector<Piece> overlay(const std::vector<Piece>& base, const std::vector<Piece>& finer);

}  // namespace whystall::timeline
