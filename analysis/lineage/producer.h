// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "model/leaf.h"
#include "timeline/timeline.h"

namespace whystall::lineage {

/// Who of a leaf's chain had to deliver, and when it did.
struct Delivery {
  std::size_t by = 0;  // its place in the chain; 0: nobody
  model::TimeNs at = 0;
};

/// The last thread of the chain that another one waits for and that works ahead of it: it was at
/// work already when that wait began, so what it does during the wait is only the end of what made
/// it late. One that is asked and answers is not: it waited for the asking thread until just
/// before. Waits for locks are none for deliveries, and end the search.
/// `from`: of the waits of the chain from this place on.
Delivery last_delivery(const timeline::Timeline& timeline, const model::Leaf& leaf,
                       std::size_t from = 0);

}  // namespace whystall::lineage
