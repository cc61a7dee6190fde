// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "evidence/intervals.h"
#include "model/recording.h"
#include "timeline/timeline.h"

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

inline bool is_query(const wst_api& call) {
  return call.call == WST_API_QUERY_STREAM || call.call == WST_API_QUERY_EVENT;
}

inline model::TimeNs entry_of(const wst_api& call) {
  return static_cast<model::TimeNs>(call.entry_ns);
}
inline model::TimeNs last_of(const wst_api& call) {
  return std::max(entry_of(call), static_cast<model::TimeNs>(call.last_ns));
}
inline model::TimeNs time_of(const wst_api& call) {
  return static_cast<model::TimeNs>(call.h.ts);
}

/// What the calls with these places come to, by time. While records were lost, losses' begins and
/// ends are among it.
std::vector<Move> moves_of(const model::Recording& recording, const std::vector<std::size_t>& calls,
                           const timeline::Timeline& timeline, const Intervals& losses);

/// Of the calls, those that a later record tells better.
std::vector<bool> repeated(const std::vector<wst_api>& api);

}  // namespace whystall::evidence
