// SPDX-License-Identifier: Apache-2.0
#include "evidence/calls.h"

#include <map>
#include <tuple>
#include <utility>

#include "evidence/evidence.h"
#include "evidence/pending.h"

namespace whystall::evidence {

using model::Interval;
using model::Tid;
using model::TimeNs;

std::vector<Move> moves_of(const model::Recording& recording, const std::vector<std::size_t>& calls,
                           const History& history, const Intervals& losses) {
  std::vector<Move> moves;
  for (const std::size_t i : calls) {
    const wst_api& call = recording.api[i];
    if (model::is_synchronise(call) || is_query(call)) {
      const Step ask = call.call == WST_API_SYNC_COPY ? Step::kAskOfItself : Step::kAsk;
      moves.push_back({entry_of(call), ask, i});
      if (last_of(call) > entry_of(call)) moves.push_back({last_of(call), Step::kAsk, i});
      moves.push_back({looked_by(call, entry_of(call), time_of(call), history), Step::kLook, i});
      moves.push_back({time_of(call), Step::kReturn, i});
    } else {
      const bool at_return = call.call == WST_API_STREAM_CREATE ||
                             call.call == WST_API_CONTEXT_NEW ||
                             call.call == WST_API_CONTEXT_DESTROY;
      moves.push_back({at_return ? time_of(call) : entry_of(call), Step::kCall, i});
      if (last_of(call) > entry_of(call)) moves.push_back({last_of(call), Step::kSeen, i});
    }
  }
  for (const Interval& lost : losses) {
    moves.push_back({lost.lo, Step::kLost, kNoCall});
    moves.push_back({lost.hi, Step::kLost, kNoCall});
  }
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
    return std::pair(a.at, a.step) < std::pair(b.at, b.step);
  });
  return moves;
}

/// A call, or a run of them, that the dump has shown before it was over comes again, longer: the
/// last counts. But a query that finds all done is told at once, and then those that follow.
std::vector<bool> repeated(const std::vector<wst_api>& api) {
  std::vector<bool> old(api.size(), false);
  using Key = std::tuple<Tid, std::uint64_t, std::uint16_t, std::uint64_t, std::uint64_t>;
  std::map<Key, std::size_t> latest;
  for (std::size_t i = 0; i < api.size(); i++) {
    const wst_api& call = api[i];
    const auto [entry, added] =
        latest.try_emplace({call.tid, call.entry_ns, call.call, call.stream, call.event}, i);
    if (added) continue;
    const wst_api& before = api[entry->second];
    const bool told_at_once = is_query(before) && before.ret == WST_API_DONE &&
                              before.last_ns == before.entry_ns && call.ret == before.ret &&
                              call.last_ns > before.last_ns;
    const bool longer = told_at_once || before.ret == WST_API_OPEN ||
                        (call.ret != WST_API_OPEN && call.count >= before.count);
    if (!told_at_once) old[longer ? entry->second : i] = true;
    if (longer) entry->second = i;
  }
  return old;
}

}  // namespace whystall::evidence
