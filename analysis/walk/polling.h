// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <vector>

#include "model/recording.h"

namespace whystall::walk {

/// Tells waiting on the CPU from work, by where a thread was when it was sampled there.
class Polling {
 public:
  explicit Polling(const model::Recording& recording);

  /// When thread `tid` gave the CPU away (sched_yield) or told it that it only waits (the
  /// instruction `pause`) in at least half of the samples around the instant, those in the driver's
  /// own code left out. By time, disjoint.
  const std::vector<model::Interval>& times(model::Tid tid) const;

 private:
  std::unordered_map<model::Tid, std::vector<model::Interval>> threads_;
};

}  // namespace whystall::walk
