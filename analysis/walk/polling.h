// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "model/recording.h"

namespace whystall::walk {

/// Tells waiting on the CPU from work, by where a thread was when it was sampled there.
class Polling {
 public:
  explicit Polling(const model::Recording& recording);

  /// Whether thread `tid` gave the CPU away (sched_yield) or told it that it only waits (the
  /// instruction `pause`) in at least half of the samples in and around `at`. False when there are
  /// none. In the driver's own code it is the driver that waits.
  bool polls(model::Tid tid, model::Interval at) const;

 private:
  struct Sample {
    model::TimeNs at;
    bool polls;
  };
  std::map<model::Tid, std::vector<Sample>> threads_;  // by time
};

}  // namespace whystall::walk
