// SPDX-License-Identifier: Apache-2.0
#include "evidence/evidence.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "evidence/held_up.h"
#include "evidence/intervals.h"
#include "evidence/losses.h"
#include "evidence/pending.h"
#include "evidence/work.h"

namespace whystall::evidence {

namespace {

using model::Confidence;
using model::Interval;
using model::Pid;
using model::Tid;
using model::TimeNs;

/// More than a host has; keeps sums over processes within 64 bits whatever a file says.
constexpr std::size_t kMaxProcesses = 4096;

/// What happens at one time of a call, which may have several. Of one time: what is asked comes
/// before what is submitted, which it does not cover; but a copy that waits for itself asks after.
enum class Step : std::uint8_t { kAsk, kReturn, kCall, kAskOfItself, kSeen };
struct Move {
  TimeNs at;
  Step step;
  std::size_t call;
};

bool is_query(const wst_api& call) {
  return call.call == WST_API_QUERY_STREAM || call.call == WST_API_QUERY_EVENT;
}

bool is_proof(const wst_api& call) {
  switch (call.call) {
    case WST_API_SYNC_STREAM:
    case WST_API_SYNC_CONTEXT:
    case WST_API_SYNC_EVENT:
    case WST_API_SYNC_COPY:
      return true;
    default:
      return is_query(call);
  }
}

TimeNs entry_of(const wst_api& call) {
  return static_cast<TimeNs>(call.entry_ns);
}
TimeNs last_of(const wst_api& call) {
  return std::max(entry_of(call), static_cast<TimeNs>(call.last_ns));
}
TimeNs time_of(const wst_api& call) {
  return static_cast<TimeNs>(call.h.ts);
}

/// Contexts of one device, or of devices that are not told apart.
struct Group {
  std::int64_t device = -1;
  std::vector<ContextId> contexts;  // empty: all
  std::optional<Stretch> starved;   // the one that goes on
  std::vector<Stretch> parts;       // of it, those that are over: it has become more certain
  std::vector<Stretch> stretches;   // starved ones
  std::vector<Interval> pending, late;

  bool has(ContextId context) const {
    return contexts.empty() ||
           std::find(contexts.begin(), contexts.end(), context) != contexts.end();
  }
};

class Process {
 public:
  Process(Pid pid, const model::Recording& recording, const timeline::Timeline& timeline,
          const Losses& losses, const std::map<std::size_t, TimeNs>& held_up, Interval watched,
          bool stealing, std::vector<std::size_t> calls)
      : pid_(pid),
        recording_(recording),
        timeline_(timeline),
        losses_(losses),
        held_up_(held_up),
        watched_(watched),
        calls_(std::move(calls)),
        stealing_(stealing),
        groups_(groups_of_contexts()),
        work_(handles_.size() > 1) {}

  void run(Evidence& evidence) {
    for (const Move& move : moves()) take(move, evidence);
    end_silence(watched_.hi, work_.last_submitter(), true);
    for (Group& group : groups_) {
      close(group, watched_.hi, work_.last_submitter(), true);
      evidence.contexts.push_back(context_of(group));
    }
  }

 private:
  /// By device where that of each context is known.
  std::vector<Group> groups_of_contexts() {
    std::map<ContextId, std::int64_t> devices;
    for (const std::size_t i : calls_) {
      const wst_api& call = recording_.api[i];
      const bool told = call.event != 0 && call.event != WST_STREAM_UNKNOWN;
      if (!told || call.ret != 0) continue;
      if (call.call == WST_API_CONTEXT || call.call == WST_API_CONTEXT_NEW)
        handles_.insert(call.event);
      if (call.call == WST_API_CONTEXT_NEW || call.call == WST_API_CONTEXT_DEVICE)
        devices[call.event] = static_cast<std::int32_t>(call.bytes);
    }
    std::map<std::int64_t, Group> by_device;
    for (const ContextId handle : handles_) {
      const auto device = devices.find(handle);
      if (device == devices.end()) return {Group{}};
      Group& group = by_device[device->second];
      group.device = device->second;
      group.contexts.push_back(handle);
    }
    if (by_device.size() < 2) {
      Group all;
      if (!by_device.empty()) all.device = by_device.begin()->first;
      return {all};
    }
    std::vector<Group> groups;
    for (auto& [device, group] : by_device) groups.push_back(std::move(group));
    return groups;
  }

  std::vector<Move> moves() const {
    std::vector<Move> moves;
    for (const std::size_t i : calls_) {
      const wst_api& call = recording_.api[i];
      if (is_proof(call)) {
        const Step ask = call.call == WST_API_SYNC_COPY ? Step::kAskOfItself : Step::kAsk;
        moves.push_back({entry_of(call), ask, i});
        if (last_of(call) > entry_of(call)) moves.push_back({last_of(call), Step::kAsk, i});
        moves.push_back({time_of(call), Step::kReturn, i});
      } else {
        const bool at_return = call.call == WST_API_STREAM_CREATE ||
                               call.call == WST_API_CONTEXT_NEW ||
                               call.call == WST_API_CONTEXT_DESTROY;
        moves.push_back({at_return ? time_of(call) : entry_of(call), Step::kCall, i});
        if (last_of(call) > entry_of(call)) moves.push_back({last_of(call), Step::kSeen, i});
      }
    }
    std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
      return std::pair(a.at, a.step) < std::pair(b.at, b.step);
    });
    return moves;
  }

  void take(const Move& move, Evidence& evidence) {
    const wst_api& call = recording_.api[move.call];
    switch (move.step) {
      case Step::kAsk:
      case Step::kAskOfItself:
        work_.see(call, move.at);
        return ask(move);
      case Step::kReturn:
        if (call.ret != WST_API_OPEN)
          (is_query(call) ? evidence.queries : evidence.syncs) += count(call);
        return answer(move);
      case Step::kSeen:
        return work_.see(call, move.at);
      case Step::kCall:
        if (call.call == WST_API_SUBMIT) evidence.submits += count(call);
        return made(move);
    }
  }

  static std::uint64_t count(const wst_api& call) { return std::max<std::uint64_t>(1, call.count); }

  void made(const Move& move) {
    const wst_api& call = recording_.api[move.call];
    switch (call.call) {
      case WST_API_SUBMIT:
        submitted(call, move.call);
        break;
      case WST_API_CONTEXT:
      case WST_API_CONTEXT_NEW:
        work_.take_context(call);
        break;
      case WST_API_CONTEXT_DESTROY:
        work_.end_context(call);
        break;
      case WST_API_RECORD_EVENT:
        work_.record_event(call);
        break;
      case WST_API_WAIT_EVENT:
        work_.wait_event(call);
        break;
      case WST_API_STREAM_CREATE:
        work_.create_stream(call);
        break;
      case WST_API_STREAM_DESTROY:
        work_.destroy_stream(call);
        break;
      case WST_API_EVENT_DESTROY:
        work_.destroy_event(call);
        break;
      default:
        break;
    }
    work_.see(call, move.at);
  }

  void submitted(const wst_api& call, std::size_t index) {
    const ContextId context = work_.submit(call);
    const auto held_up = held_up_.find(index);
    if (held_up != held_up_.end()) {
      const TimeNs since = std::max(work_.queued_since(call), losses_.unseen_until(last_of(call)));
      for (Group& group : groups_) {
        if (since > 0 && (groups_.size() == 1 || group.has(context)))
          group.pending.push_back({since, held_up->second});
      }
    }
    end_silence(entry_of(call), call.tid, false);
    silent_since_ = std::max(silent_since_, last_of(call));
    for (Group& group : groups_) {
      if (groups_.size() == 1 || group.has(context) || !any_group_has(context))
        close(group, entry_of(call), call.tid, false);
    }
  }

  bool any_group_has(ContextId context) const {
    return std::any_of(groups_.begin(), groups_.end(),
                       [&](const Group& group) { return group.has(context); });
  }

  /// What a proof covers is settled when it is asked for; what it says, when it returns. That a
  /// query finds work undone holds when it is asked.
  void ask(const Move& move) {
    const wst_api& call = recording_.api[move.call];
    auto covered = work_.covered_by(call, move.at);
    if (!covered || move.at > watched_.hi) return;  // then it may cover submits that went unseen
    if (is_query(call)) {
      if (call.ret == WST_API_NOT_READY) pending(*covered, move.at);
      if (call.ret != WST_API_DONE || move.at < last_of(call)) return;
    }
    asked_[move.call] = std::move(*covered);
  }

  void answer(const Move& move) {
    const wst_api& call = recording_.api[move.call];
    const auto asked = asked_.find(move.call);
    if (asked == asked_.end()) return;
    const Vector covered = std::move(asked->second);
    asked_.erase(asked);
    if (!is_query(call) && (call.ret == WST_API_DONE || call.ret == WST_API_OPEN)) {
      const Waited waited = how_it_waited(call, timeline_, stealing_);
      // A copy that returns when it is done waits for itself, too.
      const TimeNs own = call.call == WST_API_SYNC_COPY ? entry_of(call) : 0;
      if (waited.pending_until) pending(covered, waited.pending_until, own);
      if (waited.late.length() > 0) {
        if (Group* group = group_of(covered)) group->late.push_back(waited.late);
      }
    }
    // A proof asked for before all probes were attached may not know of a submit.
    if (call.ret != WST_API_DONE || entry_of(call) < watched_.lo) return;
    if (call.call == WST_API_SYNC_CONTEXT)
      work_.prove_context(call, covered, entry_of(call));
    else
      work_.prove(covered);
    for (Group& group : groups_) look(group, time_of(call), move.call);
  }

  /// Null: of several.
  Group* group_of(const Vector& covered) {
    if (groups_.size() == 1) return &groups_.front();
    const auto contexts = work_.contexts_of(covered);
    for (Group& group : groups_) {
      if (!contexts.empty() &&
          std::all_of(contexts.begin(), contexts.end(), [&](ContextId c) { return group.has(c); }))
        return &group;
    }
    return nullptr;
  }

  void pending(const Vector& covered, TimeNs until, TimeNs not_before = 0) {
    const TimeNs last = work_.pending_since(covered);
    const TimeNs since = std::max({last, not_before, losses_.unseen_until(until)});
    Group* group = group_of(covered);
    if (group && last > 0 && since < until) group->pending.push_back({since, until});
  }

  /// Whether the group's contexts are empty from here on.
  void look(Group& group, TimeNs at, std::size_t proof) {
    const auto emptiness = work_.emptiness(group.contexts, losses_.unseen_until(at));
    if (emptiness == Work::Emptiness::kNotKnown) return;
    const bool sure = emptiness == Work::Emptiness::kSure && recording_.meta.api_complete;
    const Confidence confidence = sure ? Confidence::kProven : Confidence::kLikely;
    if (group.starved && group.starved->confidence <= confidence) return;
    if (group.starved) {
      group.starved->at.hi = at;
      group.parts.push_back(*group.starved);
    }
    group.starved = Stretch{{at, at}, State::kStarved, confidence, proof, 0, false};
  }

  void close(Group& group, TimeNs at, Tid tid, bool open) {
    if (!group.starved) return;
    group.starved->at.hi = at;
    group.parts.push_back(*group.starved);
    group.starved.reset();
    // What was submitted while calls were lost was not seen.
    const TimeNs seen = losses_.first_after(group.parts.front().at.lo, at);
    for (Stretch& part : group.parts) {
      part.at = {std::max(part.at.lo, watched_.lo), std::min({part.at.hi, watched_.hi, seen})};
      part.tid = tid;
      part.open = open || seen < at;
      if (part.at.length() > 0) group.stretches.push_back(part);
    }
    group.parts.clear();
  }

  void end_silence(TimeNs at, Tid tid, bool open) {
    const Interval silence{std::max(silent_since_, watched_.lo), std::min(at, watched_.hi)};
    if (tid != 0 && silence.length() > kSilenceNs) silences_.push_back({silence, tid, open});
  }

  Context context_of(const Group& group) const {
    Context context{pid_, group.device, {}, {}, silences_};
    std::vector<Interval> starved;
    for (const Stretch& s : group.stretches) starved.push_back(s.at);
    auto had_work = clipped(united(group.pending), watched_);
    had_work = without(had_work, losses_.intervals());
    // Both cannot be: then one of them rests on what did not happen so, and neither is claimed.
    const auto neither = common(had_work, united(starved));
    had_work = without(had_work, neither);
    for (const Stretch& s : group.stretches) {
      for (const Interval& part : without({s.at}, neither)) {
        Stretch piece = s;
        piece.at = part;
        context.stretches.push_back(piece);
      }
    }
    for (const Interval& at : had_work) context.stretches.push_back({at, State::kHadWork});
    auto known = united(starved);
    known = without(known, neither);
    known.insert(known.end(), had_work.begin(), had_work.end());
    known = united(known);
    for (const Interval& at : without({recording_.window()}, known))
      context.stretches.push_back({at, State::kNotKnown});
    std::stable_sort(context.stretches.begin(), context.stretches.end(),
                     [](const Stretch& a, const Stretch& b) { return a.at.lo < b.at.lo; });
    context.possibly_starved = without(clipped(united(group.late), watched_), known);
    return context;
  }

  Pid pid_;
  const model::Recording& recording_;
  const timeline::Timeline& timeline_;
  const Losses& losses_;
  const std::map<std::size_t, TimeNs>& held_up_;
  Interval watched_;
  std::vector<std::size_t> calls_;
  bool stealing_;
  std::set<ContextId> handles_;
  std::vector<Group> groups_;
  Work work_;
  std::map<std::size_t, Vector> asked_;
  TimeNs silent_since_ = 0;
  std::vector<Silence> silences_;
};

/// A run of calls that the dump has shown before it was over comes again, longer: the last counts.
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
    const bool longer =
        call.ret != WST_API_OPEN && (before.ret == WST_API_OPEN || call.count >= before.count);
    old[longer ? entry->second : i] = true;
    if (longer) entry->second = i;
  }
  return old;
}

}  // namespace

Evidence find_evidence(const model::Recording& recording, const timeline::Timeline& timeline) {
  Evidence evidence;
  evidence.window = recording.window();
  Interval watched = recording.window();
  // What was submitted later went unseen.
  if (const TimeNs until = recording.meta.api_until_ns; until > 0)
    watched.hi = std::clamp(until, watched.lo, watched.hi);
  const auto old = repeated(recording.api);
  std::map<Pid, std::vector<std::size_t>> calls;
  for (std::size_t i = 0; i < recording.api.size(); i++) {
    const Pid pid = recording.api[i].tgid;
    if (old[i] || (!calls.contains(pid) && calls.size() >= kMaxProcesses)) continue;
    calls[pid].push_back(i);
  }
  const Losses losses(recording, old);
  const auto held_up = held_up_submits(recording);
  const bool stealing = hypervisor_steals(recording.api);
  for (auto& [pid, of_process] : calls)
    Process(pid, recording, timeline, losses, held_up, watched, stealing, std::move(of_process))
        .run(evidence);
  evidence.processes = calls.size();
  return evidence;
}

}  // namespace whystall::evidence
