// SPDX-License-Identifier: Apache-2.0
#include "gaps/gaps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace whystall::gaps {

namespace {

using model::Confidence;
using model::Interval;
using model::TimeNs;

/// A stream of one process; per-thread default streams differ by thread.
using StreamKey = std::pair<std::uint64_t, model::Tid>;

struct Stream {
  TimeNs last_submit = 0;
  TimeNs proved_until = 0;  // submits up to here are done
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

/// What is known of one process's context.
class Context {
 public:
  Context(model::Pid pid, const Session& session) : pid_(pid), session_(session) {}

  void take(const wst_api& call, Gaps& out) {
    const auto entry = static_cast<TimeNs>(call.entry_ns);
    const StreamKey key{call.stream, call.stream == WST_STREAM_PER_THREAD ? call.tid : 0};
    switch (call.call) {
      case WST_API_SUBMIT:
        out.submits++;
        close(static_cast<TimeNs>(call.h.ts), call.tid, false, out);
        streams_[key].last_submit = std::max(streams_[key].last_submit, entry);
        submitter_ = call.tid;
        return;
      case WST_API_RECORD_EVENT: {
        Event& event = events_[call.event];
        event = {{key, entry}, event.last};
        return;
      }
      case WST_API_SYNC_STREAM:
      case WST_API_SYNC_COPY:
        out.syncs++;
        return prove_stream(key, entry, call);
      case WST_API_SYNC_CONTEXT:
        out.syncs++;
        return prove_context(entry, call);
      case WST_API_SYNC_EVENT:
        out.syncs++;
        return prove_event(entry, call);
      default:
        return;
    }
  }

  /// The window's end: a gap that nothing ended lasts until there.
  void finish(Gaps& out) { close(session_.window.hi, submitter_, true, out); }

 private:
  void prove_stream(const StreamKey& key, TimeNs until, const wst_api& call) {
    // Calls whose stream is not known need not mean the same one: they prove nothing of each other.
    if (call.ret != 0 || key.first == WST_STREAM_UNKNOWN) return;
    Stream& stream = streams_[key];
    stream.proved_until = std::max(stream.proved_until, until);
    note_emptiness(call);
  }

  void prove_context(TimeNs until, const wst_api& call) {
    if (call.ret != 0) return;
    context_proved_until_ = std::max(context_proved_until_, until);
    note_emptiness(call);
  }

  void prove_event(TimeNs entry, const wst_api& call) {
    const auto event = events_.find(call.event);
    if (event == events_.end()) return;
    const bool again = event->second.last.at > entry;  // recorded again during the wait
    const Record& record = again ? event->second.before : event->second.last;
    if (record.at > 0 && record.at <= entry) prove_stream(record.stream, record.at, call);
  }

  void note_emptiness(const wst_api& call) {
    const auto at = static_cast<TimeNs>(call.h.ts);
    if (submitter_ == 0) submitter_ = call.tid;
    if (empty_since_ || !empty(at)) return;
    empty_since_ = at;
    confidence_ =
        worse(session_.best, context_proved_until_ > 0 ? Confidence::kProven : Confidence::kLikely);
  }

  bool empty(TimeNs at) const {
    for (const Interval& lost : session_.lost) {
      if (lost.lo <= at && lost.hi > context_proved_until_) return false;
    }
    return std::all_of(streams_.begin(), streams_.end(), [&](const auto& s) {
      return s.second.last_submit <= std::max(s.second.proved_until, context_proved_until_);
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
  const Session& session_;
  std::map<StreamKey, Stream> streams_;
  std::map<std::uint64_t, Event> events_;
  TimeNs context_proved_until_ = 0;
  std::optional<TimeNs> empty_since_;
  Confidence confidence_ = Confidence::kProven;
  model::Tid submitter_ = 0;
};

}  // namespace

Gaps find_gaps(const model::Recording& recording) {
  Session session{recording.window(), {}, Confidence::kProven};
  if (!recording.meta.api_complete) session.best = Confidence::kLikely;
  for (const wst_loss& loss : recording.losses) {
    if (loss.loss_class != WST_LOST_API) continue;
    session.lost.push_back({static_cast<TimeNs>(loss.first_ns), static_cast<TimeNs>(loss.last_ns)});
  }
  Gaps found;
  std::map<model::Pid, Context> contexts;
  for (const wst_api& call : recording.api) {
    contexts.try_emplace(call.tgid, call.tgid, session).first->second.take(call, found);
  }
  for (auto& [pid, context] : contexts) context.finish(found);
  found.contexts = contexts.size();
  std::stable_sort(found.gaps.begin(), found.gaps.end(), [](const Gap& a, const Gap& b) {
    return std::pair(a.pid, a.at.lo) < std::pair(b.pid, b.at.lo);
  });
  return found;
}

}  // namespace whystall::gaps
