// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "model/recording.h"
#include "timeline/timeline.h"
#include "walk/polling.h"

namespace whystall::walk {

/// Who ended a wait that left no wake-up, because the waiting thread never slept.
class Releasers {
 public:
  /// All must outlive it.
  Releasers(const model::Recording& recording, const timeline::Timeline& timeline,
            const Polling& polling);

  struct Released {
    model::Tid tid = 0;  // 0: cannot be told
    model::TimeNs until = 0;
  };

  /// By elimination: of the other threads of the process, the one that ran last before the end of
  /// `at` without polling itself, and until when. Not told when several were on the CPU then.
  Released of(model::Pid pid, model::Tid waiting, model::Interval at) const;

 private:
  const timeline::Timeline& timeline_;
  const Polling& polling_;
  std::map<model::Pid, std::vector<model::Tid>> threads_;
};

}  // namespace whystall::walk
