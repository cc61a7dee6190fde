// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "model/diagnosis.h"
#include "model/recording.h"

namespace whystall::ledger {

/// What the records themselves show of the sources that made them.
struct Watched {
  std::uint64_t lost_calls = 0;         // of the driver, within the window
  model::DurationNs where_lost_ns = 0;  // stalled time in which threads' states were lost
  bool waits = false;                   // there is a wait
  bool wake_context = false;            // ... whose wake-up came from an interrupt
  bool driver_calls = false;            // there is a call
};
/// All but where_lost_ns, which only the walk tells.
Watched watched_in(const model::Recording& recording);

/// The usual suspects, of a diagnosis whose findings are complete. One is cleared only if its
/// causes have less than a hundredth of the stalled time, if what is unknown cannot hide it, and if
/// what would have seen it was attached for the whole window, was seen to work and lost nothing in
/// a hundredth of that time. Empty where nothing stalled.
std::vector<model::Suspect> suspects(const model::Diagnosis& diagnosis, const Watched& watched);

}  // namespace whystall::ledger
