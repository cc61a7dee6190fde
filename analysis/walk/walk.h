// SPDX-License-Identifier: Apache-2.0
#pragma once

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
/// The leaves are in time order, do not overlap, and sum to the gap exactly. A gap's own confidence
/// bounds theirs.
class Walks {
 public:
  /// Both must outlive it.
  Walks(const model::Recording& recording, const timeline::Timeline& timeline);

  std::vector<model::Leaf> walk(const gaps::Gap& gap) const;

  const model::Recording& recording;
  const timeline::Timeline& timeline;
  const DriverCalls calls;
  const Polling polling;
  const Demand demand;
  const InterpreterLocks interpreter_locks;
  const OtherEnds ends;
  const Releasers releasers;
};

}  // namespace whystall::walk
