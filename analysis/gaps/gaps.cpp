// SPDX-License-Identifier: Apache-2.0
#include "gaps/gaps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace whystall::gaps {

namespace {

using model::Confidence;
using model::Interval;
using model::TimeNs;

/// More than a host has; keeps sums over processes within 64 bits whatever a file says.
constexpr std::size_t kMaxProcesses = 4096;

/// A context by its handle; 0 as long as a process uses no more than one.
using ContextId = std::uint64_t;

/// A stream of one process. Handles are of a context; per-thread default streams differ by thread.
using StreamKey = std::tuple<ContextId, std::uint64_t, model::Tid>;

struct Stream {
  TimeNs last_submit = 0;
  model::Tid submitter = 0;
  TimeNs proved_until = 0;  // submits up to here are done
};

/// A context whose handle is not known is one of its own: what a thread used before the attach, or
/// got by a call that does not tell the handle, stays the same until the next change.
constexpr ContextId kUnknownContext = ContextId{1} << 63;

struct Thread {
  ContextId context = 0;  // 0: not changed since the attach
  TimeNs last_call = 0;
};

struct Record {
  StreamKey stream;
  TimeNs at = 0;
};

/// An event's last two records: a wait that was entered between them proves the earlier one.
struct Event {
  Record last, before;
};

/// What holds for all processes of a recording.
struct Session {
  Interval window;
  std::vector<Interval> lost;             // times in which driver calls were lost
  Confidence best = Confidence::kProven;  // likely where not every driver call was probed
};

/// What is known of one process's work.
class Context {
 public:
  Context(model::Pid pid, bool several_contexts, const Session& session)
      : pid_(pid), several_(several_contexts), session_(session) {}

  void take(const wst_api& call, Gaps& out) {
    const auto entry = static_cast<TimeNs>(call.entry_ns);
    Thread& thread = threads_[call.tid];
    if (call.call == WST_API_CONTEXT) {
      const bool told = call.event != WST_STREAM_UNKNOWN && call.event != 0;
      thread.context = told ? call.event : kUnknownContext | ++unknown_contexts_ << 32;
      return;
    }
    ContextId context = 0;
    if (several_) context = thread.context ? thread.context : kUnknownContext | call.tid;
    const StreamKey key{context, call.stream, call.stream == WST_STREAM_PER_THREAD ? call.tid : 0};
    switch (call.call) {
      case WST_API_SUBMIT: {
        out.submits++;
        close(static_cast<TimeNs>(call.h.ts), call.tid, false, out);
        Stream& stream = streams_[key];
        stream.last_submit = std::max(stream.last_submit, entry);
        stream.submitter = submitter_ = call.tid;
        break;
      }
      case WST_API_RECORD_EVENT: {
        Event& event = events_[call.event];
        event = {{key, entry}, event.last};
        break;
      }
      case WST_API_SYNC_STREAM:
      case WST_API_SYNC_COPY:
        out.syncs++;
        prove_stream(key, entry, call);
        break;
      case WST_API_SYNC_CONTEXT:
        out.syncs++;
        prove_context(context, entry, call);
        break;
      case WST_API_SYNC_EVENT:
        out.syncs++;
        prove_event(entry, call);
        break;
      default:
        break;
    }
    thread.last_call = std::max(thread.last_call, entry);
  }

  /// The window's end: a gap that nothing ended lasts until there.
  void finish(Gaps& out) { close(session_.window.hi, submitter_, true, out); }

 private:
  /// A proof asked for before all probes were attached may not know of a submit.
  bool usable(const wst_api& call) const {
    return call.ret == 0 && static_cast<TimeNs>(call.entry_ns) >= session_.window.lo;
  }

  void prove_stream(const StreamKey& key, TimeNs until, const wst_api& call) {
    // Calls whose stream is not known need not mean the same one: they prove nothing of each other.
    if (!usable(call) || std::get<1>(key) == WST_STREAM_UNKNOWN) return;
    Stream& stream = streams_[key];
    stream.proved_until = std::max(stream.proved_until, until);
    note_emptiness(call);
  }

  void prove_context(ContextId context, TimeNs until, const wst_api& call) {
    if (!usable(call)) return;
    TimeNs& proved = contexts_proved_[context];
    proved = std::max(proved, until);
    note_emptiness(call);
  }

  void prove_event(TimeNs entry, const wst_api& call) {
    const auto event = events_.find(call.event);
    if (event == events_.end()) return;
    const bool again = event->second.last.at > entry;  // recorded again during the wait
    const Record& record = again ? event->second.before : event->second.last;
    if (record.at > 0 && record.at <= entry) prove_stream(record.stream, record.at, call);
  }

  TimeNs context_proved(ContextId context) const {
    const auto proved = contexts_proved_.find(context);
    return proved == contexts_proved_.end() ? 0 : proved->second;
  }

  void note_emptiness(const wst_api& call) {
    const auto at = static_cast<TimeNs>(call.h.ts);
    if (submitter_ == 0) submitter_ = call.tid;
    if (empty_since_ || !empty(at)) return;
    empty_since_ = at;
    confidence_ = sure(call) ? session_.best : Confidence::kLikely;
  }

  /// Whether nothing but what was seen can be pending: a context-wide proof has excluded work from
  /// before the attach, and no other thread was still inside its submit when the proof was asked
  /// for.
  bool sure(const wst_api& call) const {
    if (several_ || context_proved(0) == 0) return false;
    return std::all_of(streams_.begin(), streams_.end(), [&](const auto& s) {
      const Stream& stream = s.second;
      if (stream.submitter == call.tid || stream.submitter == 0) return true;
      const auto thread = threads_.find(stream.submitter);
      return thread != threads_.end() && thread->second.last_call > stream.last_submit &&
             thread->second.last_call < static_cast<TimeNs>(call.entry_ns);
    });
  }

  bool empty(TimeNs at) const {
    for (const Interval& lost : session_.lost) {
      if (lost.lo <= at && (several_ || lost.hi > context_proved(0))) return false;
    }
    return std::all_of(streams_.begin(), streams_.end(), [&](const auto& s) {
      return s.second.last_submit <=
             std::max(s.second.proved_until, context_proved(std::get<0>(s.first)));
    });
  }

  void close(TimeNs at, model::Tid tid, bool open, Gaps& out) {
    if (!empty_since_) return;
    const Interval gap{std::max(*empty_since_, session_.window.lo),
                       std::min(at, session_.window.hi)};
    empty_since_.reset();
    const bool doubtful =
        std::any_of(session_.lost.begin(), session_.lost.end(),
                    [&](const Interval& lost) { return lost.lo < gap.hi && lost.hi >= gap.lo; });
    if (gap.length() > 0 && !doubtful) out.gaps.push_back({gap, pid_, tid, open, confidence_});
  }

  model::Pid pid_;
  bool several_;  // it uses more than one context
  const Session& session_;
  std::map<model::Tid, Thread> threads_;
  ContextId unknown_contexts_ = 0;
  std::map<StreamKey, Stream> streams_;
  std::map<std::uint64_t, Event> events_;
  std::map<ContextId, TimeNs> contexts_proved_;
  std::optional<TimeNs> empty_since_;
  Confidence confidence_ = Confidence::kProven;
  model::Tid submitter_ = 0;
};

}  // namespace

Gaps find_gaps(const model::Recording& recording) {
  Session session{recording.window(), {}, Confidence::kProven};
  // What was submitted later went unseen.
  if (const TimeNs until = recording.meta.api_until_ns; until > 0)
    session.window.hi = std::min(session.window.hi, until);
  if (!recording.meta.api_complete) session.best = Confidence::kLikely;
  for (const wst_loss& loss : recording.losses) {
    if (loss.loss_class != WST_LOST_API) continue;
    session.lost.push_back({static_cast<TimeNs>(loss.first_ns), static_cast<TimeNs>(loss.last_ns)});
  }
  std::map<model::Pid, std::set<ContextId>> handles;
  for (const wst_api& call : recording.api) {
    auto& known = handles[call.tgid];
    if (call.call == WST_API_CONTEXT && call.event != 0 && call.event != WST_STREAM_UNKNOWN) {
      known.insert(call.event);
    }
  }
  Gaps found;
  std::map<model::Pid, Context> contexts;
  for (const wst_api& call : recording.api) {
    const bool several = handles[call.tgid].size() > 1;
    if (!contexts.contains(call.tgid) && contexts.size() >= kMaxProcesses) continue;
    contexts.try_emplace(call.tgid, call.tgid, several, session).first->second.take(call, found);
  }
  for (auto& [pid, context] : contexts) context.finish(found);
  found.contexts = contexts.size();
  std::stable_sort(found.gaps.begin(), found.gaps.end(), [](const Gap& a, const Gap& b) {
    return std::pair(a.pid, a.at.lo) < std::pair(b.pid, b.at.lo);
  });
  return found;
}

}  // namespace whystall::gaps
