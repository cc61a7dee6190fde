// SPDX-License-Identifier: Apache-2.0
//
// What the work of a process answers to those that ask about it.
#include <algorithm>

#include "evidence/calls.h"
#include "evidence/work.h"

namespace whystall::evidence {

using model::TimeNs;

std::optional<Vector> Work::covered_by(const wst_api& call, TimeNs at) {
  Vector covered;
  switch (call.call) {
    case WST_API_SYNC_STREAM:
    case WST_API_SYNC_COPY:
    case WST_API_QUERY_STREAM:
      // Calls whose stream is not known need not mean the same one.
      if (call.stream == WST_STREAM_UNKNOWN) return std::nullopt;
      add_stream(covered, stream_of(call, call.call == WST_API_SYNC_COPY), call.tid, at);
      return covered;
    case WST_API_SYNC_EVENT:
    case WST_API_QUERY_EVENT: {
      const auto event = events_.find(call.event);
      if (event == events_.end()) return std::nullopt;
      const Settled how = settled(event->second.tid, event->second.at, call.tid, at);
      // It may have been the event's earlier record that was asked for.
      if (how == Settled::kNo || event->second.in_doubt_until > event->second.at)
        return std::nullopt;
      add(covered, before(event->second, at), how);
      return covered;
    }
    case WST_API_SYNC_CONTEXT:
      for (const auto& [id, stream] : streams_) {
        if (stream.context == context_of(call.tid))
          add(covered, {{id, reach(stream, call.tid, at)}}, Settled::kSure);
        if (stream.context == context_of(call.tid)) add_most(covered, id, at);
      }
      return covered;
    default:
      return std::nullopt;
  }
}

TimeNs Work::pending_since(const Vector& vector) const {
  TimeNs since = 0;
  for (const auto& [id, reach] : vector) since = std::max(since, reach.most);
  return since == 0 ? 0 : std::max(since, last_unknown_submit_);
}

bool Work::knows_streams_of(const wst_api& call, const Vector& vector) const {
  const bool of_context = call.call == WST_API_SYNC_CONTEXT || key_of(call).first.first != 0;
  const bool of_event = call.call == WST_API_SYNC_EVENT || call.call == WST_API_QUERY_EVENT;
  if (several_ && of_context && !of_event && unknown(context_of(call.tid))) return false;
  auto contexts = contexts_of(vector);
  const auto handle = by_handle_.find(key_of(call));
  if (call.call == WST_API_SYNC_CONTEXT) contexts.push_back(context_of(call.tid));
  if (!of_event && handle != by_handle_.end())
    contexts.push_back(streams_.at(handle->second).context);
  if (const auto event = events_.find(call.event); of_event && event != events_.end()) {
    const auto stream = streams_.find(event->second.stream);
    if (stream != streams_.end()) contexts.push_back(stream->second.context);
  }
  // An event that is not known may be of another context.
  return std::none_of(contexts.begin(), contexts.end(), [&](ContextId context) {
    return unknown(context) || std::any_of(streams_.begin(), streams_.end(), [&](const auto& s) {
             return s.second.context == context && s.second.waits_for_unknown > 0;
           });
  });
}

std::vector<ContextId> Work::contexts_of(const Vector& vector) const {
  std::vector<ContextId> contexts;
  for (const auto& [id, reach] : vector) {
    const auto stream = streams_.find(id);
    if (stream != streams_.end()) contexts.push_back(stream->second.context);
  }
  return contexts;
}

Work::Emptiness Work::emptiness(const std::vector<ContextId>& contexts, TimeNs unseen_until) const {
  if (too_many_) return Emptiness::kNotKnown;
  const auto meant = [&](ContextId context) {
    return contexts.empty() || unknown(context) ||
           std::find(contexts.begin(), contexts.end(), context) != contexts.end();
  };
  // Work from before the attach, on streams that were not seen since, is excluded by a context-wide
  // proof alone; with several contexts there may be more of them than were seen.
  const auto found = context_proved_.find(0);
  const Reach proved = several_ || found == context_proved_.end() ? Reach{} : found->second;
  if (unseen_until > 0 && proved.likely < unseen_until) return Emptiness::kNotKnown;
  const bool sure = proved.sure > 0 && proved.sure >= unseen_until;
  Emptiness answer = sure ? Emptiness::kSure : Emptiness::kLikely;
  for (const auto& [id, stream] : streams_) {
    if (!meant(stream.context) || stream.last_submit <= stream.proved_sure) continue;
    if (stream.last_submit > stream.proved_likely) return Emptiness::kNotKnown;
    answer = Emptiness::kLikely;
  }
  return answer;
}

}  // namespace whystall::evidence
