// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/history.h"
#include "evidence/intervals.h"
#include "model/driver_call.h"
#include "model/recording.h"

namespace whystall::evidence {

/// What happens at one time of a call, which may have several. Of one time: what is asked comes
/// before what is submitted, which it does not cover; but a copy that waits for itself asks after.
/// When it looked, what was entered by then can be what it found.
enum class Step : std::uint8_t { kLost, kAsk, kLook, kReturn, kCall, kAskOfItself, kSeen };
struct Move {
  model::TimeNs at;
  Step step;
  std::size_t call;
};

using model::entry_of;
using model::is_query;
using model::last_of;
using model::time_of;

/// What the calls with these places come to, by time. While records were lost, losses' begins and
/// ends are among it.
std::vector<Move> moves_of(const model::Recording& recording, const std::vector<std::size_t>& calls,
                           const History& history, const Intervals& losses);

/// Of the calls, those that a later record tells better.
std::vector<bool> repeated(const std::vector<wst_api>& api);

}  // namespace whystall::evidence
