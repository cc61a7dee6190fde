// SPDX-License-Identifier: Apache-2.0
#include "gaps/gaps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace whystall::gaps {

namespace {

using model::TimeNs;

/// A stream of one process; per-thread default streams differ by thread.
using StreamKey = std::pair<std::uint64_t, model::Tid>;

struct Stream {
  TimeNs last_submit = 0;
  TimeNs proved_until = 0;  // submits up to here are done
};

struct Event {
  StreamKey stream;
  TimeNs recorded = 0;
};

/// What is known of one process's context.
class Context {
 public:
  Context(model::Pid pid, model::Interval window, const std::vector<model::Interval>& lost)
      : pid_(pid), window_(window), lost_(lost) {}

  void take(const wst_api& call, Gaps& out) {
    const auto entry = static_cast<TimeNs>(call.entry_ns);
    const auto at = static_cast<TimeNs>(call.h.ts);
    const StreamKey key{call.stream, call.stream == WST_STREAM_PER_THREAD ? call.tid : 0};
    switch (call.call) {
      case WST_API_SUBMIT:
        out.submits++;
        close(at, call.tid, false, out);
        streams_[key].last_submit = std::max(streams_[key].last_submit, entry);
        submitter_ = call.tid;
        return;
      case WST_API_RECORD_EVENT:
        events_[call.event] = {key, entry};
        return;
      case WST_API_SYNC_STREAM:
      case WST_API_SYNC_COPY:
        prove(streams_[key].proved_until, entry, call, at, out);
        return;
      case WST_API_SYNC_CONTEXT:
        if (call.ret == 0) context_wide_ = true;
        prove(context_proved_until_, entry, call, at, out);
        return;
      case WST_API_SYNC_EVENT:
        if (const auto event = events_.find(call.event); event != events_.end()) {
          prove(streams_[event->second.stream].proved_until, event->second.recorded, call, at, out);
        } else {
          out.syncs++;
        }
        return;
      default:
        return;
    }
  }

  /// The window's end: a gap that nothing ended lasts until there.
  void finish(Gaps& out) { close(window_.hi, submitter_, true, out); }

 private:
  void prove(TimeNs& until, TimeNs entry, const wst_api& call, TimeNs at, Gaps& out) {
    out.syncs++;
    if (call.ret != 0) return;
    until = std::max(until, entry);
    if (submitter_ == 0) submitter_ = call.tid;
    if (!empty_since_ && empty(at)) {
      empty_since_ = at;
      confidence_ = context_wide_ ? model::Confidence::kProven : model::Confidence::kLikely;
    }
  }

  bool empty(TimeNs at) const {
    for (const model::Interval& lost : lost_) {
      if (lost.lo <= at && lost.hi > context_proved_until_) return false;
    }
    return std::all_of(streams_.begin(), streams_.end(), [&](const auto& s) {
      return s.second.last_submit <= std::max(s.second.proved_until, context_proved_until_);
    });
  }

  void close(TimeNs at, model::Tid tid, bool open, Gaps& out) {
    if (!empty_since_) return;
    const model::Interval gap{std::max(*empty_since_, window_.lo), std::min(at, window_.hi)};
    empty_since_.reset();
    const bool doubtful = std::any_of(lost_.begin(), lost_.end(), [&](const model::Interval& lost) {
      return lost.lo < gap.hi && lost.hi >= gap.lo;
    });
    if (gap.length() > 0 && !doubtful) out.gaps.push_back({gap, pid_, tid, open, confidence_});
  }

  model::Pid pid_;
  model::Interval window_;
  const std::vector<model::Interval>& lost_;
  std::map<StreamKey, Stream> streams_;
  std::map<std::uint64_t, Event> events_;
  TimeNs context_proved_until_ = 0;
  bool context_wide_ = false;
  std::optional<TimeNs> empty_since_;
  model::Confidence confidence_ = model::Confidence::kProven;
  model::Tid submitter_ = 0;
};

}  // namespace

Gaps find_gaps(const model::Recording& recording) {
  Gaps found;
  std::vector<model::Interval> lost;
  for (const wst_loss& loss : recording.losses) {
    if (loss.loss_class == WST_LOST_API) {
      lost.push_back({static_cast<TimeNs>(loss.first_ns), static_cast<TimeNs>(loss.last_ns)});
    }
  }
  std::map<model::Pid, Context> contexts;
  for (const wst_api& call : recording.api) {
    contexts.try_emplace(call.tgid, call.tgid, recording.window(), lost)
        .first->second.take(call, found);
  }
  for (auto& [pid, context] : contexts) context.finish(found);
  std::stable_sort(found.gaps.begin(), found.gaps.end(), [](const Gap& a, const Gap& b) {
    return std::pair(a.pid, a.at.lo) < std::pair(b.pid, b.at.lo);
  });
  return found;
}

}  // namespace whystall::gaps
