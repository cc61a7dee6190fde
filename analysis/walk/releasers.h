// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "model/recording.h"
#include "timeline/timeline.h"
#include "walk/polling.h"

namespace whystall::walk {

/// Whom a thread waits for that never sleeps, so that no wake-up tells.
class Releasers {
 public:
  /// All must outlive it.
  Releasers(const model::Recording& recording, const timeline::Timeline& timeline,
            const Polling& polling);

  struct Part {
    model::Interval at;
    model::Tid tid = 0;  // 0: cannot be told
  };

  /// By elimination, for each instant: the only other thread of the process that is at work then,
  /// on the CPU, waiting for one, or for a file. Those that poll, too, sleep, or wait for somebody
  /// are not. Covers `at`, by time.
  std::vector<Part> of(model::Pid pid, model::Tid waiting, model::Interval at) const;

 private:
  void add_busy(model::Tid tid, model::Interval at, std::vector<Part>& busy) const;

  const timeline::Timeline& timeline_;
  const Polling& polling_;
  std::map<model::Pid, std::vector<model::Tid>> threads_;
};

}  // namespace whystall::walk
