// SPDX-License-Identifier: Apache-2.0
#include "walk/driver_calls.h"

#include <algorithm>

namespace whystall::walk {

using model::TimeNs;

namespace {

TimeNs entry_of(const wst_api& call) {
  return static_cast<TimeNs>(call.entry_ns);
}
TimeNs end_of(const wst_api& call) {
  return static_cast<TimeNs>(call.h.ts);
}

bool is_told(const wst_api& call) {
  switch (call.call) {
    case WST_API_SYNC_STREAM:
    case WST_API_SYNC_CONTEXT:
    case WST_API_SYNC_EVENT:
    case WST_API_SYNC_COPY:
    case WST_API_COPY:
    case WST_API_MEMORY:
      return true;
    case WST_API_QUERY_STREAM:
    case WST_API_QUERY_EVENT:
      // One question is asked in passing; many of them, with the same answer, are a wait.
      return call.ret == WST_API_NOT_READY && call.count > 1;
    default:
      return false;
  }
}

}  // namespace

DriverCalls::DriverCalls(const model::Recording& recording) {
  for (const wst_api& call : recording.api) {
    if (is_told(call) && end_of(call) > entry_of(call)) threads_[call.tid].push_back(&call);
  }
  for (auto& [tid, calls] : threads_) {
    // Of an open call that was shown several times, and of one that ended, the longest counts.
    std::stable_sort(calls.begin(), calls.end(), [](const wst_api* a, const wst_api* b) {
      return std::pair(a->entry_ns, b->h.ts) < std::pair(b->entry_ns, a->h.ts);
    });
    std::vector<const wst_api*> disjoint;
    for (const wst_api* call : calls) {
      if (disjoint.empty() || entry_of(*call) >= end_of(*disjoint.back())) disjoint.push_back(call);
    }
    calls = std::move(disjoint);
  }
}

const wst_api* DriverCalls::before(model::Tid tid, TimeNs t) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return nullptr;
  const auto& calls = found->second;
  const auto next = std::lower_bound(calls.begin(), calls.end(), t,
                                     [](const wst_api* c, TimeNs at) { return entry_of(*c) < at; });
  if (next == calls.begin()) return nullptr;
  const wst_api* call = *std::prev(next);
  return end_of(*call) >= t ? call : nullptr;
}

TimeNs DriverCalls::ended_before(model::Tid tid, TimeNs t) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return 0;
  const auto& calls = found->second;
  const auto next = std::lower_bound(calls.begin(), calls.end(), t,
                                     [](const wst_api* c, TimeNs at) { return end_of(*c) <= at; });
  return next == calls.begin() ? 0 : end_of(**std::prev(next));
}

}  // namespace whystall::walk
