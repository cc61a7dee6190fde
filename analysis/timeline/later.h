// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/recording.h"

namespace whystall::timeline {

/// A wait that goes on with another one is followed by it within this, whatever was in between.
constexpr model::DurationNs kBetweenWaits = 20'000'000;

/// The next wait of a thread that slept: what an earlier one may go on with.
struct NextSleep {
  wst_wait wait;
  wst_wait ends_with;         // the last of those that are one wait with it; it itself, if none is
  model::TimeNs at = 0;       // when the thread fell asleep
  model::TimeNs from = 0;     // the thread is known without a hole from here to `at`
  model::DurationNs ran = 0;  // of that, on the CPU
};

struct NextOfThread {
  std::optional<wst_wait> wait;  // the first to end
  bool faulted = false;          // it; see Piece
  std::optional<NextSleep> sleep;
  std::optional<model::Sums> sums;  // the first to end
};

/// What the records that end at or after a time tell of the time before it: of each thread and of
/// each CPU the first one to end, which may have begun before. Which record counts at an instant
/// depends on nothing later, so a recording can be read from its end in parts of any size.
struct Later {
  std::unordered_map<model::Tid, NextOfThread> threads;
  std::unordered_map<std::uint32_t, wst_slice> slices;  // by CPU
  std::vector<wst_migrate> moves;                       // within the waits of `threads`
};

}  // namespace whystall::timeline
