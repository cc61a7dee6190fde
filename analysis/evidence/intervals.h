// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "model/recording.h"

namespace whystall::evidence {

using Intervals = std::vector<model::Interval>;

/// Sorted and disjoint intervals that cover the same; empty ones go.
Intervals united(Intervals intervals);

// Of sorted and disjoint intervals, the results too:
Intervals clipped(const Intervals& intervals, model::Interval to);
/// What of `intervals` lies in none of `gone`.
Intervals without(const Intervals& intervals, const Intervals& gone);
Intervals common(const Intervals& a, const Intervals& b);

}  // namespace whystall::evidence
