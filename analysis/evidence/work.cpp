// SPDX-License-Identifier: Apache-2.0
#include "evidence/work.h"

#include <algorithm>

#include "evidence/calls.h"
#include "evidence/pending.h"

namespace whystall::evidence {

using model::Tid;
using model::TimeNs;

namespace {

/// More than programs use at a time; beyond them nothing is claimed.
constexpr std::size_t kMaxStreams = 4096;
constexpr std::size_t kMaxEvents = 1 << 16;

constexpr model::DurationNs kLongestCallNs = 1'000'000'000;

/// Flags of a new stream: the lowest bit is CU_STREAM_NON_BLOCKING.
constexpr std::uint64_t kNonBlocking = 1;

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

StreamId Work::stream_of(const wst_api& call, bool own) {
  const bool of_context = call.stream == WST_STREAM_PER_THREAD ||
                          call.stream == WST_STREAM_UNKNOWN || call.stream == WST_STREAM_LEGACY;
  const auto [found, added] = by_handle_.try_emplace(key_of(call), next_stream_);
  if (!added) {
    Stream& stream = streams_[found->second];
    // In another context than its own the call fails.
    if (own && (stream.context_in_doubt || unknown(stream.context))) {
      stream.context = context_of(call.tid);
      stream.context_in_doubt = false;
    }
    return found->second;
  }
  next_stream_++;
  if (streams_.size() >= kMaxStreams) forget_done();
  too_many_ |= streams_.size() >= kMaxStreams;
  Stream& stream = streams_[found->second];
  // Other contexts' streams can be asked about, and waited for.
  const bool certain = own || of_context || !several_;
  stream.context = certain ? context_of(call.tid) : kUnknownContext | ++unknown_contexts_ << 32;
  stream.legacy = call.stream == WST_STREAM_LEGACY;
  stream.known = call.stream != WST_STREAM_UNKNOWN;
  if (call.stream == WST_STREAM_PER_THREAD) stream.blocking = Blocking::kYes;
  if (call.call != WST_API_STREAM_CREATE) stream.last_submit = attach_ - 1;
  return found->second;
}

TimeNs Work::queued_since(const wst_api& call) {
  const Stream& stream = streams_[stream_of(call, true)];
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
  const auto at = static_cast<TimeNs>(call.h.ts);
  if (call.call == WST_API_CONTEXT_NEW && told)
    context_proved_.try_emplace(several_ ? context : 0, Reach{at, at, 0});
}

ContextId Work::submit(const wst_api& call) {
  Stream& stream = streams_[stream_of(call, true)];
  const TimeNs first = entry_of(call), last = std::max(first, static_cast<TimeNs>(call.last_ns));
  stream.last_submit = std::max(stream.last_submit, last);
  stream.last_action = std::max(stream.last_action, last);
  stream.by_thread[call.tid] = {first, last};
  stream.unproved += std::max<std::uint64_t>(1, call.count);
  stream.recent.emplace_back(last, std::max<std::uint64_t>(1, call.count));
  if (stream.recent.size() > kFullQueue) stream.recent.pop_front();
  last_submitter_ = call.tid;
  // A context that is not known may be any.
  if (!stream.known || (several_ && unknown(stream.context)))
    last_unknown_submit_ = std::max(last_unknown_submit_, last);
  return stream.context;
}

void Work::see(const wst_api& call, TimeNs at) {
  TimeNs& last = threads_[call.tid].last_call;
  last = std::max(last, at);
}

/// Whether a call that thread `tid` entered at `made` had its effect when `asker` entered another
/// at `at`.
Settled Work::settled(Tid tid, TimeNs made, Tid asker, TimeNs at) const {
  if (tid == asker) return Settled::kSure;
  const auto thread = threads_.find(tid);
  if (thread != threads_.end() && thread->second.last_call > made && thread->second.last_call <= at)
    return Settled::kSure;
  return has_had(history_, tid, made, at, kCallNs) ? Settled::kLikely : Settled::kNo;
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
/// whether a stream is blocking, it may have been waited for; and so may what one of them waits
/// for, and what another blocking stream got before something was done to the legacy one.
void Work::add_joined(Vector& to, const Stream& stream, const Reach& own, TimeNs at) const {
  if (stream.blocking == Blocking::kNo || !stream.known) return;
  const bool covered = stream.last_submit > 0 && stream.last_submit <= own.sure;
  Tid submitter = 0;
  for (const auto& [tid, submits] : stream.by_thread) {
    if (submits.last == stream.last_submit) submitter = tid;
  }
  TimeNs legacy_used = 0;
  const auto joins = [&](const Stream& other) {
    return other.context == stream.context && &other != &stream && other.known &&
           other.blocking != Blocking::kNo;
  };
  for (const auto& [id, other] : streams_) {
    if (!joins(other) || other.legacy == stream.legacy) continue;
    if (other.legacy) legacy_used = other.last_action;
    const bool certainly = covered && submitter != 0 &&
                           (stream.legacy ? other.blocking : stream.blocking) == Blocking::kYes;
    Reach reached{0, 0, std::min(other.last_submit, at)};
    if (certainly) {
      const Reach then = reach(other, submitter, stream.last_submit);
      reached.sure = one_ ? then.sure : 0;
      reached.likely = then.likely;
    }
    add(to, {{id, reached}}, Settled::kSure);
    add_most(to, id, at);
  }
  if (stream.legacy || legacy_used == 0) return;
  for (const auto& [id, other] : streams_) {
    if (joins(other) && !other.legacy) add_most(to, id, std::min(at, legacy_used));
  }
}

/// It may be what it is about, or what that waits for, without being covered.
void Work::add_most(Vector& to, StreamId id, TimeNs at) const {
  const Stream& stream = streams_.at(id);
  add(to, {{id, {0, 0, std::min(stream.last_submit, at)}}}, Settled::kSure);
  for (const auto& [of, reach] : stream.waits) add(to, {{of, {0, 0, reach.most}}}, Settled::kSure);
}

/// What was submitted before the event's record.
Vector Work::before(const Event& event, TimeNs at) const {
  Vector before = event.before;
  const auto stream = streams_.find(event.stream);
  if (stream == streams_.end()) return before;
  Vector meanwhile;
  add_stream(meanwhile, event.stream, event.tid, std::min(at, event.looked));
  for (auto& [id, reach] : meanwhile) reach.sure = reach.likely = 0;
  add(before, meanwhile, Settled::kSure);
  return before;
}

void Work::record_event(const wst_api& call) {
  if (events_.size() >= kMaxEvents) {
    events_.clear();
    last_unknown_submit_ = std::max(last_unknown_submit_, entry_of(call));
  }
  Event event;
  const StreamId id = stream_of(call, true);
  add_stream(event.before, id, call.tid, entry_of(call));
  event.stream = id;
  event.at = entry_of(call);
  event.looked = looked_by(call, event.at, event.at + kLongestCallNs, history_);
  streams_[id].last_action = std::max(streams_[id].last_action, event.looked);
  event.tid = call.tid;
  const auto old = events_.find(call.event);
  if (old != events_.end()) {
    // Who uses the event meanwhile may get the record before this one.
    Vector most;
    for (const auto& [stream, reach] : before(old->second, event.at))
      most[stream] = {0, 0, reach.most};
    add(event.before, most, Settled::kSure);
    was_recorded_again(call, event.before);
    const Event& other = old->second;
    event.in_doubt_until = other.in_doubt_until;
    if (settled(other.tid, other.at, call.tid, event.at) != Settled::kSure)
      event.in_doubt_until = event.at + kLongestCallNs;
  }
  events_[call.event] = std::move(event);
}

/// Calls that made a stream wait for the event, and have not returned, may get the new record.
void Work::was_recorded_again(const wst_api& call, const Vector& now) {
  for (auto& [id, stream] : streams_) {
    if (stream.waits.empty() || stream.waits_event != call.event) continue;
    if (settled(stream.waits_tid, stream.waits_at, call.tid, entry_of(call)) == Settled::kSure)
      continue;
    for (auto& [of, reach] : stream.waits) reach.sure = reach.likely = 0;
    for (const auto& [of, reach] : now) {
      Reach& all = stream.waits[of];
      all.most = std::max(all.most, reach.most);
    }
  }
}

void Work::wait_event(const wst_api& call) {
  Stream& stream = streams_[stream_of(call, false)];
  const TimeNs at = entry_of(call);
  stream.last_action =
      std::max(stream.last_action, looked_by(call, at, at + kLongestCallNs, history_));
  // A context that is not known may be any; and so may be what joins there.
  if (several_ && unknown(stream.context))
    last_unknown_submit_ = std::max(last_unknown_submit_, stream.last_action);
  const auto event = events_.find(call.event);
  if (event == events_.end() || event->second.in_doubt_until > event->second.at) {
    if (several_ || event != events_.end()) stream.waits_for_unknown = at;
    return;
  }
  Vector all;
  if (!stream.waits.empty())
    add(all, stream.waits, settled(stream.waits_tid, stream.waits_at, call.tid, at));
  add(all, before(event->second, at), settled(event->second.tid, event->second.at, call.tid, at));
  stream.waits = std::move(all);
  stream.waits_at = at;
  stream.waits_tid = call.tid;
  stream.waits_event = call.event;
}

void Work::create_stream(const wst_api& call) {
  if (call.ret != 0 || call.stream == WST_STREAM_UNKNOWN) return;
  Stream& stream = streams_[stream_of(call, true)];
  stream.blocking = (call.event & kNonBlocking) != 0 ? Blocking::kNo : Blocking::kYes;
}

void Work::destroy_stream(const wst_api& call) {
  streams_[stream_of(call, false)].destroyed = true;
  by_handle_.erase(key_of(call));
  forget_done();
}

void Work::destroy_event(const wst_api& call) {
  events_.erase(call.event);
}

void Work::prove(const Vector& done) {
  for (const auto& [id, reach] : done) {
    const auto found = streams_.find(id);
    if (found == streams_.end()) continue;
    Stream& stream = found->second;
    stream.proved_sure = std::max(stream.proved_sure, reach.sure);
    stream.proved_likely = std::max(stream.proved_likely, reach.likely);
    if (stream.last_submit <= stream.proved_likely) stream.unproved = 0;
    if (stream.waits_for_unknown < reach.sure) stream.waits_for_unknown = 0;
    std::erase_if(stream.by_thread,
                  [&](const auto& s) { return s.second.last <= stream.proved_sure; });
  }
}

Settled Work::all_settled(const wst_api& asker, TimeNs since, TimeNs at) const {
  Settled all = Settled::kSure;
  for (const Tid tid : all_) {
    const auto born = born_.find(tid);
    if (tid == asker.tid || (born != born_.end() && born->second >= since)) continue;
    const auto thread = threads_.find(tid);
    if (thread != threads_.end() && thread->second.last_call >= since) continue;
    if (!has_had(history_, tid, since, at, kCallNs)) return Settled::kNo;
    all = Settled::kLikely;
  }
  return all;
}

void Work::forget_contexts() {
  for (auto& [tid, thread] : threads_) thread.context = 0;
  for (auto& [id, stream] : streams_) stream.context_in_doubt = true;
}

void Work::prove_context(const wst_api& call, const Vector& done, TimeNs at, Settled settled) {
  prove(done);
  Reach& proved = context_proved_[context_of(call.tid)];
  if (settled == Settled::kSure) proved.sure = std::max(proved.sure, at);
  if (settled != Settled::kNo) proved.likely = std::max(proved.likely, at);
}

void Work::end_context(const wst_api& call) {
  if (!several_ || call.ret != 0) return;
  std::erase_if(by_handle_, [&](const auto& handle) {
    return streams_.at(handle.second).context == call.event;
  });
  std::erase_if(streams_, [&](const auto& s) { return s.second.context == call.event; });
}

void Work::forget_done() {
  const auto done = [&](StreamId id, TimeNs until) {
    const auto stream = streams_.find(id);
    return stream == streams_.end() || until <= stream->second.proved_sure;
  };
  std::erase_if(streams_, [&](const auto& s) {
    return s.second.destroyed && s.second.last_submit <= s.second.proved_sure &&
           std::all_of(s.second.waits.begin(), s.second.waits.end(),
                       [&](const auto& w) { return done(w.first, w.second.most); });
  });
}

}  // namespace whystall::evidence
