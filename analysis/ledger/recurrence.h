// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/finding.h"

namespace whystall::ledger {

/// The gaps of one finding, of which a bounded number is kept: those with most of its time.
class Occurrences {
 public:
  /// A gap that began at `at`, with `ns` of the finding. `number` counts the gaps that were ended
  /// by `pid`, in the order of time or against it.
  void add(model::TimeNs at, model::DurationNs ns, model::Pid pid, std::uint64_t number);

  /// What rule they follow. `all_gaps`: of the process that ended them, these included.
  ///
  /// The gaps that are looked at are those with at least a tenth of the longest one's share, when
  /// four fifths of the finding's time lie in them. They are regular when four fifths of the steps
  /// from one to the next, of at least four, are within a fifth of the middle one.
  model::Recurrence recurrence(model::Interval window, std::uint64_t all_gaps) const;

  /// The one process whose calls ended these gaps; 0: there are several.
  model::Pid pid() const { return several_ ? 0 : pid_; }

 private:
  struct Occurrence {
    model::TimeNs at;
    model::DurationNs ns;
    std::uint64_t number;
  };
  std::vector<Occurrence> main_ones() const;

  std::vector<Occurrence> kept_;
  model::DurationNs all_ns_ = 0;
  model::Pid pid_ = 0;
  bool several_ = false;
};

}  // namespace whystall::ledger
