// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/time.h"

namespace whystall::lineage {

/// How long pieces were, in steps of a quarter of an octave. Lengths in ns, above 0.
class Lengths {
 public:
  void add(model::DurationNs length);
  void add(const Lengths& others);
  /// Half of the time lies in pieces that are not longer; 0: there are none. The mean of the step
  /// that it falls into. Of a thread that computes in a few long runs and many short ones it is a
  /// long one, which a median by number is not.
  ///
  /// One piece of length `but_for`, which must be among them, is not asked; 0: all are.
  model::DurationNs median_by_time(model::DurationNs but_for = 0) const;

  /// The sum of what each piece has more than `length`, by the means of the steps.
  model::DurationNs beyond(model::DurationNs length) const;

 private:
  struct Step {
    int number = 0;
    std::uint64_t pieces = 0;
    model::DurationNs ns = 0;
  };

  void add(const Step& step);

  std::vector<Step> steps_;  // by number
  model::DurationNs ns_ = 0;
};

}  // namespace whystall::lineage
