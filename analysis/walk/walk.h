// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "gaps/gaps.h"
#include "model/leaf.h"
#include "timeline/timeline.h"
#include "walk/demand.h"
#include "walk/driver_calls.h"
#include "walk/interpreter_locks.h"
#include "walk/other_ends.h"
#include "walk/polling.h"
#include "walk/releasers.h"

namespace whystall::walk {

/// What the walk must know of the whole recording, which must outlive it.
struct Facts {
  /// Of `recording`, its driver calls, samples and ends are read, and what describes it.
  explicit Facts(const model::Recording& all);

  const model::Recording& recording;
  DriverCalls calls;
  Polling polling;
  Demand demand;
  OtherEnds ends;
  model::LastWakes last_wakes;
  InterpreterLocks interpreter_locks;
};

/// Walks back from the call that ended a gap and says what each of its nanoseconds was spent on
/// (the path view).
///
/// Model: at every instant the thread that was to launch is on the CPU, runnable or blocked. On the
/// CPU and runnable are answers. Blocked is answered by what it waited for (a file, a sleep), or,
/// when another task woke it in its own name, by what that task did during the same time: the walk
/// goes on there, never outside the wait that led to it. Termination: each hop only narrows the
/// interval and goes no deeper than 16; a thread that is already being walked at that time is a
/// mutual wait.
///
/// Inside a driver call that waits or takes long, being on the CPU is no work: it is that call's.
///
/// What an instant is charged to depends on no other one, so that a gap may be cut anywhere and its
/// parts walked one by one.
///
/// The leaves are in time order, do not overlap, and sum to the gap exactly. A gap's own confidence
/// bounds theirs.
class Walks {
 public:
  /// Both must outlive it.
  Walks(const model::Recording& recording, const timeline::Timeline& timeline);
  /// The same for a part of a recording: `timeline` is that of the part. All must outlive it.
  Walks(const Facts& facts, const timeline::Timeline& timeline);

  /// The gap must lie in the timeline's part.
  std::vector<model::Leaf> walk(const gaps::Gap& gap) const;

  /// What a thread did in `at`, before the threads of `waited` began to wait for it, the first for
  /// the second and so on: their hops come first in each leaf's chain. What it waited for them is
  /// unknown (Reason::kMutualWait), but of a lock that they held.
  std::vector<model::Leaf> past(model::Tid tid, model::Interval at,
                                const std::vector<model::Hop>& waited) const;

 private:
  Walks(std::unique_ptr<const Facts> own, const timeline::Timeline& timeline);

  std::unique_ptr<const Facts> own_;

 public:
  const model::Recording& recording;
  const timeline::Timeline& timeline;
  const DriverCalls& calls;
  const Polling& polling;
  const Demand& demand;
  const OtherEnds& ends;
  const model::LastWakes& last_wakes;
  const InterpreterLocks& interpreter_locks;
  const Releasers releasers;
};

}  // namespace whystall::walk
