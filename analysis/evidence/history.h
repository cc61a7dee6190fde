// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/recording.h"
#include "timeline/timeline.h"

namespace whystall::evidence {

/// A stretch of a thread's time in one state: what the evidence needs of a timeline::Piece, and
/// small, because it is kept of the whole recording.
struct Spell {
  model::Interval at;
  /// Of a mixed one: how much of all the time that it is a part of was off the CPU.
  model::DurationNs off_cpu = 0;
  timeline::State state = timeline::State::kRunning;
  bool for_device = false;    // asleep until the device's work is done; any other is for a lock
  bool by_interrupt = false;  // woken by the device's interrupt, or by what stands for it
  bool like(const Spell& other) const {
    return off_cpu == other.off_cpu && state == other.state && for_device == other.for_device &&
           by_interrupt == other.by_interrupt;
  }
};

/// The states of the threads that call the driver, and when threads were born, over the whole
/// recording.
class History {
 public:
  History() = default;
  /// Of all threads of a recording and the timeline of all of it.
  History(const model::Recording& recording, const timeline::Timeline& timeline);

  /// What the timeline of a slab tells of these threads in `at`. Slabs come from the last to the
  /// first; finish() follows.
  void add_before(const timeline::Timeline& timeline, model::Interval at,
                  const std::unordered_set<model::Tid>& threads);
  void add_births(const std::vector<wst_wait>& waits);
  void finish();

  /// By time, disjoint. Neighbours that touch differ, but for mixed ones.
  std::span<const Spell> thread(model::Tid tid) const;
  /// The one that holds the instant just before `t`; null: not recorded.
  const Spell* before(model::Tid tid, model::TimeNs t) const;
  /// When each thread of the process that was seen from its first instruction on began.
  std::map<model::Tid, model::TimeNs> births(model::Pid pid) const;

 private:
  std::unordered_map<model::Tid, std::vector<Spell>> threads_;
  std::map<std::pair<model::Pid, model::Tid>, model::TimeNs> births_;
};

/// The threads that call the driver.
std::unordered_set<model::Tid> callers(const std::vector<wst_api>& api);

}  // namespace whystall::evidence
