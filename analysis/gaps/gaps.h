// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/leaf.h"
#include "model/recording.h"

namespace whystall::gaps {

/// Gaps shorter than this are launch overhead: summed into gpu.launch and not walked.
constexpr model::DurationNs kMicroGapNs = 20'000;

/// A time in which everything that the process had submitted was proved done.
struct Gap {
  model::Interval at;
  model::Pid pid = 0;
  model::Tid tid = 0;  // whose call ended it; of an open gap, the last submitter
  bool open = false;   // no call ended it: it lasts until the end of the window
  model::Confidence confidence = model::Confidence::kProven;
};

struct Gaps {
  std::vector<Gap> gaps;  // by time; of several processes, one after the other
  std::uint64_t submits = 0;
  std::uint64_t syncs = 0;
  std::uint64_t contexts = 0;  // processes that called the driver
};

/// Proves emptiness from the driver calls alone: a synchronise that returned success proves that
/// what its stream (or event, or context) had been given before the call's entry is done; the gap
/// begins at its return if nothing else is unproved, and ends at the entry of the next call that
/// submits work, by any thread of the process. Clipped to the window.
///
/// Only `likely`: as long as no context-wide proof has excluded work from before the attach; while
/// another thread may still have been inside its submit when the proof was asked for; where not
/// every driver call could be probed; and in a process with several contexts, whose proofs count
/// for their own context alone. Nothing is claimed from a proof asked for before the window, and
/// none from the first lost driver call until a context-wide proof that was asked for after the
/// last.
Gaps find_gaps(const model::Recording& recording);

}  // namespace whystall::gaps
