// SPDX-License-Identifier: Apache-2.0
#include "walk/driver_calls.h"

#include <algorithm>
#include <utility>

#include "model/driver_call.h"

namespace whystall::walk {

using model::entry_of;
using model::time_of;
using model::TimeNs;

namespace {

bool is_told(const wst_api& call) {
  // One question is asked in passing; many of them, with the same answer, are a wait.
  if (model::is_query(call)) return call.ret == WST_API_NOT_READY && call.count > 1;
  return model::is_synchronise(call) || call.call == WST_API_COPY || call.call == WST_API_MEMORY;
}

}  // namespace

DriverCalls::DriverCalls(const model::Recording& recording) {
  for (const wst_api& call : recording.api) {
    if (is_told(call) && time_of(call) > entry_of(call)) threads_[call.tid].push_back(&call);
  }
  for (auto& [tid, calls] : threads_) {
    // Of an open call that was shown several times, and of one that ended, the longest counts.
    std::stable_sort(calls.begin(), calls.end(), [](const wst_api* a, const wst_api* b) {
      return std::pair(a->entry_ns, b->h.ts) < std::pair(b->entry_ns, a->h.ts);
    });
    std::vector<const wst_api*> disjoint;
    for (const wst_api* call : calls) {
      if (disjoint.empty() || entry_of(*call) >= time_of(*disjoint.back()))
        disjoint.push_back(call);
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
  return time_of(*call) >= t ? call : nullptr;
}

TimeNs DriverCalls::ended_before(model::Tid tid, TimeNs t) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return 0;
  const auto& calls = found->second;
  const auto next = std::lower_bound(calls.begin(), calls.end(), t,
                                     [](const wst_api* c, TimeNs at) { return time_of(*c) <= at; });
  return next == calls.begin() ? 0 : time_of(**std::prev(next));
}

}  // namespace whystall::walk
