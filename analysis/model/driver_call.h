// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "abi/events.h"
#include "model/time.h"

namespace whystall::model {

/// A call that returns when work is done.
inline bool is_synchronise(const wst_api& call) {
  return call.call == WST_API_SYNC_STREAM || call.call == WST_API_SYNC_CONTEXT ||
         call.call == WST_API_SYNC_EVENT || call.call == WST_API_SYNC_COPY;
}

/// A call that asks whether work is done.
inline bool is_query(const wst_api& call) {
  return call.call == WST_API_QUERY_STREAM || call.call == WST_API_QUERY_EVENT;
}

inline TimeNs entry_of(const wst_api& call) {
  return static_cast<TimeNs>(call.entry_ns);
}
/// Of a run of calls: the entry of the last.
inline TimeNs last_of(const wst_api& call) {
  return std::max(entry_of(call), static_cast<TimeNs>(call.last_ns));
}
/// The return, of what is told at its return.
inline TimeNs time_of(const wst_api& call) {
  return static_cast<TimeNs>(call.h.ts);
}

}  // namespace whystall::model
