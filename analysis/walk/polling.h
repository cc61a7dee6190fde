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

  /// When thread `tid` gave the CPU away (sched_yield) in at least half of the samples around the
  /// instant. By time, disjoint.
  const std::vector<model::Interval>& yielding(model::Tid tid) const;

 private:
  std::unordered_map<model::Tid, std::vector<model::Interval>> threads_;
};

}  // namespace whystall::walk
