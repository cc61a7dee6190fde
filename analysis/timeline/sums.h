// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "timeline/piece.h"

namespace whystall::timeline {

/// Pieces for the time that the sums of one thread, by time, cover. The last wait of each entry is
/// known exactly; where there were earlier ones, the rest is a mixed piece, else a run. What the
/// pieces refer to is put into `waits` and `mixes`. What was in `pieces` goes.
void pieces_of_sums(std::span<const model::Sums* const> sums, std::deque<wst_wait>& waits,
                    std::deque<Mix>& mixes, std::vector<Piece>& pieces);

/// `base` with its runs, and what it does not cover, replaced by what `finer` tells of them. Both
/// sorted and without overlap.
std::vector<Piece> overlay(const std::vector<Piece>& base, const std::vector<Piece>& finer);

}  // namespace whystall::timeline
