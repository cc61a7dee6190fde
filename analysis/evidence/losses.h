// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evidence/intervals.h"
#include "model/recording.h"

namespace whystall::evidence {

/// When driver calls were lost: what was counted as lost, and where a thread's own count of submits
/// is ahead of the records.
class Losses {
 public:
  /// `old`: of the recording's calls, those that a later record tells better.
  Losses(const model::Recording& recording, const std::vector<bool>& old);

  const Intervals& intervals() const { return lost_; }
  /// Up to when nothing is known of what was submitted before `at`: the end of the last loss that
  /// had begun by then, and of the calls that were lost in it. 0: all is known.
  model::TimeNs unseen_until(model::TimeNs at) const;
  /// The begin of the first loss that touches [lo, hi), or `hi`.
  model::TimeNs first_after(model::TimeNs lo, model::TimeNs hi) const;

 private:
  Intervals lost_;
};

}  // namespace whystall::evidence
