// SPDX-License-Identifier: Apache-2.0
#include "evidence/evidence.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "evidence/calls.h"
#include "evidence/group.h"
#include "evidence/held_up.h"
#include "evidence/history.h"
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

/// A proof that has been asked for.
struct Asked {
  Vector covered;
  Settled since_attach = Settled::kNo, since_loss = Settled::kNo;
};

class Process {
 public:
  Process(Pid pid, const model::Recording& recording, const History& history, const Losses& losses,
          const std::map<std::size_t, TimeNs>& held_up, Interval watched, bool stealing,
          std::vector<std::size_t> calls)
      : pid_(pid),
        recording_(recording),
        history_(history),
        losses_(losses),
        held_up_(held_up),
        watched_(watched),
        calls_(std::move(calls)),
        stealing_(stealing),
        born_(history.births(pid)),
        groups_(groups_of_contexts()),
        work_(handles_.size() > 1, one_context_, watched.lo, history, threads(), born_) {}

  void run(Evidence& evidence) {
    for (const Move& move : moves_of(recording_, calls_, history_, losses_.intervals()))
      take(move, evidence);
    end_silence(watched_.hi, work_.last_submitter(), true);
    for (Group& group : groups_) {
      close(group, watched_.hi, work_.last_submitter(), true);
      evidence.contexts.push_back(
          states_of(group, pid_, recording_.window(), watched_, losses_.intervals(), silences_));
    }
  }

 private:
  std::vector<Tid> threads() const {
    std::set<Tid> threads;
    for (const std::size_t i : calls_) threads.insert(recording_.api[i].tid);
    return {threads.begin(), threads.end()};
  }
  /// By device where that of each context is known.
  std::vector<Group> groups_of_contexts() {
    std::map<ContextId, std::int64_t> devices;
    std::set<Tid> told_theirs;
    bool unknown = false;  // a thread works in a context that it was given before the attach
    for (const std::size_t i : calls_) {
      const wst_api& call = recording_.api[i];
      if (call.call == WST_API_CONTEXT || call.call == WST_API_CONTEXT_NEW)
        told_theirs.insert(call.tid);
      else if (call.call != WST_API_CONTEXT_DEVICE)
        unknown |= !told_theirs.contains(call.tid);
      const bool told = call.event != 0 && call.event != WST_STREAM_UNKNOWN;
      if (!told || call.ret != 0) continue;
      if (call.call == WST_API_CONTEXT || call.call == WST_API_CONTEXT_NEW)
        handles_.insert(call.event);
      if (call.call == WST_API_CONTEXT_NEW || call.call == WST_API_CONTEXT_DEVICE)
        devices[call.event] = static_cast<std::int32_t>(call.bytes);
    }
    // It need not be the one whose handle is known, unless the process uses one device only.
    // Another one's handle may be among what was lost.
    one_context_ = handles_.empty() || (!unknown && losses_.intervals().empty());
    one_context_ |= model::device_index(recording_, pid_) >= 0;
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

  void take(const Move& move, Evidence& evidence) {
    if (move.step == Step::kLost) return work_.forget_contexts();
    const wst_api& call = recording_.api[move.call];
    switch (move.step) {
      case Step::kLost:
        break;
      case Step::kAsk:
      case Step::kAskOfItself:
        work_.see(call, move.at);
        return ask(move);
      case Step::kLook:
        return look(move);
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
        was_recorded_again(call);
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

  /// What a proof covers is settled when it is asked for; what it says, when it returns.
  void ask(const Move& move) {
    const wst_api& call = recording_.api[move.call];
    if (is_query(call) && (call.ret != WST_API_DONE || move.at < last_of(call))) return;
    auto covered = work_.covered_by(call, move.at);
    if (!covered || move.at > watched_.hi) return;  // then it may cover submits that went unseen
    const TimeNs unseen = std::max(watched_.lo, losses_.unseen_until(move.at));
    asked_[move.call] = {std::move(*covered), work_.all_settled(call, watched_.lo, move.at),
                         work_.all_settled(call, unseen, move.at)};
  }

  /// What it finds undone is of what was entered until it looked. A query that finds work undone
  /// says so of the time when it was made.
  void look(const Move& move) {
    const wst_api& call = recording_.api[move.call];
    looking_.insert(move.call);
    if (move.at > watched_.hi) return;  // it may find submits that went unseen
    if (is_query(call)) {
      if (call.ret == WST_API_NOT_READY) found_undone(call, move.at, entry_of(call));
    } else if (auto covered = work_.covered_by(call, move.at);
               covered && work_.knows_streams_of(call, *covered)) {
      waits_for_[move.call] = std::move(*covered);
    }
  }
  void found_undone(const wst_api& call, TimeNs at, TimeNs when) {
    if (at > watched_.hi) return;
    const auto covered = work_.covered_by(call, at);
    if (covered && work_.knows_streams_of(call, *covered)) pending(*covered, when);
    if (covered) disprove(*covered, {when, at});
  }

  void answer(const Move& move) {
    const wst_api& call = recording_.api[move.call];
    const auto waits_for = waits_for_.extract(move.call);
    looking_.erase(move.call);
    if (is_query(call) && call.ret == WST_API_NOT_READY)
      return found_undone(call, move.at, last_of(call));
    if (waits_for && (call.ret == WST_API_DONE || call.ret == WST_API_OPEN))
      waited(call, waits_for.mapped());
    const auto node = asked_.extract(move.call);
    if (!node || call.ret != WST_API_DONE) return;
    Asked& asked = node.mapped();
    // What was submitted before all probes were attached was not seen, and may be on its way.
    if (entry_of(call) < watched_.lo || asked.since_attach == Settled::kNo) return;
    const bool of_context = call.call == WST_API_SYNC_CONTEXT || call.stream == WST_STREAM_LEGACY ||
                            call.stream == WST_STREAM_PER_THREAD;
    if (of_context && !one_context_) {
      for (auto& [id, reach] : asked.covered) reach.sure = 0;
    }
    if (call.call == WST_API_SYNC_CONTEXT)
      work_.prove_context(call, asked.covered, entry_of(call), asked.since_loss);
    else
      work_.prove(asked.covered);
    for (Group& group : groups_) look_at(group, time_of(call), move.call);
  }

  /// While it was found undone there was work, maybe from before the attach: what was likely is so
  /// no longer.
  void disprove(const Vector& covered, Interval at) {
    const auto contexts = work_.contexts_of(covered);
    for (Group& group : groups_) {
      const bool meant = std::any_of(contexts.begin(), contexts.end(), [&](ContextId context) {
        return group.has(context) || !any_group_has(context);
      });
      if (!meant) continue;
      group.in_doubt.push_back(at);
      if (group.starved && group.starved->confidence == Confidence::kLikely)
        close(group, at.lo, work_.last_submitter(), true);
    }
  }

  void waited(const wst_api& call, const Vector& covered) {
    const Waited waited = how_it_waited(call, history_, stealing_);
    // A copy that returns when it is done waits for itself, too.
    const TimeNs own = call.call == WST_API_SYNC_COPY ? entry_of(call) : 0;
    if (waited.pending_until) {
      pending(covered, waited.pending_until, own);
      disprove(covered, {entry_of(call), time_of(call)});
    }
    if (waited.late.length() == 0) return;
    if (Group* group = group_of(covered)) group->late.push_back(waited.late);
  }

  /// Who asks for the event at this time may get this record or the one before.
  void was_recorded_again(const wst_api& call) {
    std::erase_if(asked_, [&](const auto& asked) {
      const wst_api& other = recording_.api[asked.first];
      const bool of_event = other.call == WST_API_SYNC_EVENT || other.call == WST_API_QUERY_EVENT;
      return of_event && other.event == call.event && other.tid != call.tid &&
             (is_query(other) || !looking_.contains(asked.first));
    });
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
    TimeNs since = work_.pending_since(covered);
    if (since == 0) return;
    // It may be what was not seen.
    since = std::max({since, not_before, losses_.unseen_until(until)});
    Group* group = group_of(covered);
    if (group && since < until) group->pending.push_back({since, until});
  }

  /// Whether the group's contexts are empty from here on.
  void look_at(Group& group, TimeNs at, std::size_t proof) {
    const auto emptiness = work_.emptiness(group.contexts, losses_.unseen_until(at));
    if (emptiness == Work::Emptiness::kNotKnown) return;
    const bool sure =
        emptiness == Work::Emptiness::kSure && one_context_ && recording_.meta.api_complete;
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

  Pid pid_;
  const model::Recording& recording_;
  const History& history_;
  const Losses& losses_;
  const std::map<std::size_t, TimeNs>& held_up_;
  Interval watched_;
  std::vector<std::size_t> calls_;
  bool stealing_;
  std::map<Tid, TimeNs> born_;
  std::set<ContextId> handles_;
  bool one_context_ = true;  // as far as can be told, where no more than one handle is
  std::vector<Group> groups_;
  Work work_;
  std::map<std::size_t, Asked> asked_;
  std::map<std::size_t, Vector> waits_for_;
  std::set<std::size_t> looking_;
  TimeNs silent_since_ = 0;
  std::vector<Silence> silences_;
};

}  // namespace

Evidence find_evidence(const model::Recording& recording, const History& history) {
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
    Process(pid, recording, history, losses, held_up, watched, stealing, std::move(of_process))
        .run(evidence);
  evidence.processes = calls.size();
  return evidence;
}

}  // namespace whystall::evidence
