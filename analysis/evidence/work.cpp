// SPDX-License-Identifier: Apache-2.0
#include "evidence/work.h"

#include <algorithm>

namespace whystall::evidence {

using model::Tid;
using model::TimeNs;

namespace {

/// More than programs use at a time; beyond them nothing is claimed.
constexpr std::size_t kMaxStreams = 4096;
constexpr std::size_t kMaxEvents = 1 << 16;

/// A context whose handle is not known is one of its own: what a thread used before the attach, or
/// got by a call that does not tell the handle, stays the same until the next change.
constexpr ContextId kUnknownContext = ContextId{1} << 63;

bool unknown(ContextId context) {
  return (context & kUnknownContext) != 0;
}

/// Flags of a new stream: the lowest bit is CU_STREAM_NON_BLOCKING.
constexpr std::uint64_t kNonBlocking = 1;

TimeNs entry_of(const wst_api& call) {
  return static_cast<TimeNs>(call.entry_ns);
}

}  // namespace

ContextId Work::context_of(Tid tid) const {
  if (!several_) return 0;
  const auto thread = threads_.find(tid);
  const ContextId context = thread == threads_.end() ? 0 : thread->second.context;
  return context ? context : kUnknownContext | tid;
}

/// A handle names its stream in the whole process, but for the default ones: those are of a
/// context, and one of them of a thread.
Work::Key Work::key_of(const wst_api& call) const {
  const bool per_thread = call.stream == WST_STREAM_PER_THREAD;
  const bool unread = call.stream == WST_STREAM_UNKNOWN;
  const bool of_context = per_thread || unread || call.stream == WST_STREAM_LEGACY;
  return {{of_context ? context_of(call.tid) : 0, call.stream},
          per_thread || unread ? call.tid : 0};
}

StreamId Work::stream_of(const wst_api& call) {
  const auto [found, added] = by_handle_.try_emplace(key_of(call), next_stream_);
  if (!added) {
    Stream& stream = streams_[found->second];
    if (unknown(stream.context)) stream.context = context_of(call.tid);
    return found->second;
  }
  next_stream_++;
  if (streams_.size() >= kMaxStreams) forget_done();
  too_many_ |= streams_.size() >= kMaxStreams;
  Stream& stream = streams_[found->second];
  stream.context = context_of(call.tid);
  stream.legacy = call.stream == WST_STREAM_LEGACY;
  stream.known = call.stream != WST_STREAM_UNKNOWN;
  if (call.stream == WST_STREAM_PER_THREAD) stream.blocking = Blocking::kYes;
  return found->second;
}

TimeNs Work::queued_since(const wst_api& call) {
  const Stream& stream = streams_[stream_of(call)];
  if (stream.unproved < kFullQueue) return 0;
  std::uint64_t behind = 0;
  for (auto run = stream.recent.rbegin(); run != stream.recent.rend(); ++run) {
    if (behind >= kFullQueue / 2) return run->first;
    behind += run->second;
  }
  return 0;
}

void Work::take_context(const wst_api& call) {
  const bool told = call.event != WST_STREAM_UNKNOWN && call.event != 0;
  const ContextId context = told ? call.event : kUnknownContext | ++unknown_contexts_ << 32;
  threads_[call.tid].context = context;
  // It has no work from before.
  if (call.call == WST_API_CONTEXT_NEW && told)
    context_proved_.try_emplace(several_ ? context : 0, static_cast<TimeNs>(call.h.ts));
}

ContextId Work::submit(const wst_api& call) {
  Stream& stream = streams_[stream_of(call)];
  const TimeNs first = entry_of(call), last = std::max(first, static_cast<TimeNs>(call.last_ns));
  stream.last_submit = std::max(stream.last_submit, last);
  stream.by_thread[call.tid] = {first, last};
  stream.unproved += std::max<std::uint64_t>(1, call.count);
  stream.recent.emplace_back(last, std::max<std::uint64_t>(1, call.count));
  if (stream.recent.size() > kFullQueue) stream.recent.pop_front();
  last_submitter_ = call.tid;
  if (!stream.known) last_unknown_submit_ = std::max(last_unknown_submit_, last);
  return stream.context;
}

void Work::see(const wst_api& call, TimeNs at) {
  TimeNs& last = threads_[call.tid].last_call;
  last = std::max(last, at);
}

/// Whether a call that thread `tid` entered at `made` had its effect when `asker` entered another
/// at `at`.
Work::Settled Work::settled(Tid tid, TimeNs made, Tid asker, TimeNs at) const {
  if (tid == asker) return Settled::kSure;
  const auto thread = threads_.find(tid);
  if (thread != threads_.end() && thread->second.last_call > made && thread->second.last_call <= at)
    return Settled::kSure;
  return at - made >= kCallNs ? Settled::kLikely : Settled::kNo;
}

Reach Work::reach(const Stream& stream, Tid asker, TimeNs at) const {
  Reach reach{at, at, std::min(stream.last_submit, at)};
  for (const auto& [tid, submits] : stream.by_thread) {
    TimeNs before = submits.first - 1;
    Settled how = Settled::kNo;
    if (submits.last <= at) {
      before = submits.last - 1;
      how = settled(tid, submits.last, asker, at);
      if (how == Settled::kLikely && stream.unproved >= kFullQueue) how = Settled::kNo;
    } else if (submits.first > at) {
      before = 0;  // what this thread had submitted by then is no longer known
    }
    if (how != Settled::kSure) reach.sure = std::min(reach.sure, before);
    if (how == Settled::kNo) reach.likely = std::min(reach.likely, before);
  }
  return reach;
}

void Work::add(Vector& to, const Vector& what, Settled how) const {
  for (const auto& [id, reach] : what) {
    const auto stream = streams_.find(id);
    if (stream == streams_.end() || reach.most <= stream->second.proved_sure) continue;
    Reach& all = to[id];
    if (how == Settled::kSure) all.sure = std::max(all.sure, reach.sure);
    if (how != Settled::kNo) all.likely = std::max(all.likely, reach.likely);
    all.most = std::max(all.most, reach.most);
  }
}

void Work::add_stream(Vector& to, StreamId id, Tid asker, TimeNs at) const {
  const Stream& stream = streams_.at(id);
  const Reach own = reach(stream, asker, at);
  add(to, {{id, own}}, Settled::kSure);
  if (!stream.waits.empty())
    add(to, stream.waits, settled(stream.waits_tid, stream.waits_at, asker, at));
  add_joined(to, stream, own, at);
}

/// Work of the legacy default stream waits for that of the blocking streams, and theirs for its:
/// what the last submit that is covered had to wait for is covered with it. Where it is not known
/// whether a stream is blocking, it may have been waited for.
void Work::add_joined(Vector& to, const Stream& stream, const Reach& own, TimeNs at) const {
  if (stream.blocking == Blocking::kNo || !stream.known) return;
  const bool covered = stream.last_submit > 0 && stream.last_submit <= own.sure;
  Tid submitter = 0;
  for (const auto& [tid, submits] : stream.by_thread) {
    if (submits.last == stream.last_submit) submitter = tid;
  }
  for (const auto& [id, other] : streams_) {
    if (other.context != stream.context || &other == &stream || !other.known) continue;
    if (other.legacy == stream.legacy || other.blocking == Blocking::kNo) continue;
    const bool joins = covered && submitter != 0 &&
                       (stream.legacy ? other.blocking : stream.blocking) == Blocking::kYes;
    Reach reached{0, 0, std::min(other.last_submit, at)};
    if (joins) {
      const Reach then = reach(other, submitter, stream.last_submit);
      reached.sure = then.sure;
      reached.likely = then.likely;
    }
    add(to, {{id, reached}}, Settled::kSure);
  }
}

void Work::record_event(const wst_api& call) {
  if (events_.size() >= kMaxEvents) events_.clear();
  Event event;
  add_stream(event.before, stream_of(call), call.tid, entry_of(call));
  event.at = entry_of(call);
  event.tid = call.tid;
  events_[call.event] = std::move(event);
}

void Work::wait_event(const wst_api& call) {
  const auto event = events_.find(call.event);
  if (event == events_.end()) return;
  Stream& stream = streams_[stream_of(call)];
  const TimeNs at = entry_of(call);
  Vector all;
  if (!stream.waits.empty())
    add(all, stream.waits, settled(stream.waits_tid, stream.waits_at, call.tid, at));
  add(all, event->second.before, settled(event->second.tid, event->second.at, call.tid, at));
  stream.waits = std::move(all);
  stream.waits_at = at;
  stream.waits_tid = call.tid;
}

void Work::create_stream(const wst_api& call) {
  if (call.ret != 0 || call.stream == WST_STREAM_UNKNOWN) return;
  Stream& stream = streams_[stream_of(call)];
  stream.blocking = (call.event & kNonBlocking) != 0 ? Blocking::kNo : Blocking::kYes;
}

void Work::destroy_stream(const wst_api& call) {
  const auto found = by_handle_.find(key_of(call));
  if (found == by_handle_.end()) return;
  streams_[found->second].destroyed = true;
  by_handle_.erase(found);
  forget_done();
}

void Work::destroy_event(const wst_api& call) {
  events_.erase(call.event);
}

std::optional<Vector> Work::covered_by(const wst_api& call, TimeNs at) {
  Vector covered;
  switch (call.call) {
    case WST_API_SYNC_STREAM:
    case WST_API_SYNC_COPY:
    case WST_API_QUERY_STREAM:
      // Calls whose stream is not known need not mean the same one.
      if (call.stream == WST_STREAM_UNKNOWN) return std::nullopt;
      add_stream(covered, stream_of(call), call.tid, at);
      return covered;
    case WST_API_SYNC_EVENT:
    case WST_API_QUERY_EVENT: {
      const auto event = events_.find(call.event);
      if (event == events_.end()) return std::nullopt;
      const Settled how = settled(event->second.tid, event->second.at, call.tid, at);
      // It may have been the event's earlier record that was asked for.
      if (how == Settled::kNo) return std::nullopt;
      add(covered, event->second.before, how);
      return covered;
    }
    case WST_API_SYNC_CONTEXT:
      for (const auto& [id, stream] : streams_) {
        if (stream.context == context_of(call.tid))
          add(covered, {{id, reach(stream, call.tid, at)}}, Settled::kSure);
      }
      return covered;
    default:
      return std::nullopt;
  }
}

void Work::prove(const Vector& done) {
  for (const auto& [id, reach] : done) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) continue;
    Stream& stream = found->second;
    stream.proved_sure = std::max(stream.proved_sure, reach.sure);
    stream.proved_likely = std::max(stream.proved_likely, reach.likely);
    if (stream.last_submit <= stream.proved_likely) stream.unproved = 0;
    std::erase_if(stream.by_thread,
                  [&](const auto& s) { return s.second.last <= stream.proved_sure; });
  }
}

void Work::prove_context(const wst_api& call, const Vector& done, TimeNs at) {
  prove(done);
  TimeNs& proved = context_proved_[context_of(call.tid)];
  proved = std::max(proved, at);
}

void Work::end_context(const wst_api& call) {
  if (!several_ || call.ret != 0) return;
  std::erase_if(by_handle_, [&](const auto& handle) {
    return streams_.at(handle.second).context == call.event;
  });
  std::erase_if(streams_, [&](const auto& s) { return s.second.context == call.event; });
}

TimeNs Work::pending_since(const Vector& vector) const {
  TimeNs since = 0;
  for (const auto& [id, reach] : vector) since = std::max(since, reach.most);
  return since == 0 ? 0 : std::max(since, last_unknown_submit_);
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
  const auto proved = [&](ContextId context) {
    const auto at = context_proved_.find(context);
    return at == context_proved_.end() ? 0 : at->second;
  };
  // Work from before the attach, on streams that were not seen since, is excluded by a context-wide
  // proof alone; with several contexts there may be more of them than were seen.
  Emptiness answer = several_ || proved(0) == 0 ? Emptiness::kLikely : Emptiness::kSure;
  if (unseen_until > 0) {
    if (several_ || proved(0) < unseen_until) return Emptiness::kNotKnown;
  }
  for (const auto& [id, stream] : streams_) {
    if (!meant(stream.context) || stream.last_submit <= stream.proved_sure) continue;
    if (stream.last_submit > stream.proved_likely) return Emptiness::kNotKnown;
    answer = Emptiness::kLikely;
  }
  return answer;
}

void Work::forget_done() {
  std::erase_if(streams_, [](const auto& s) {
    return s.second.destroyed && s.second.last_submit <= s.second.proved_sure;
  });
}

}  // namespace whystall::evidence
