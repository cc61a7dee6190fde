// SPDX-License-Identifier: Apache-2.0
#include "evidence/pending.h"

#include <algorithm>

namespace whystall::evidence {

using model::DurationNs;
using model::TimeNs;
using timeline::State;

namespace {

constexpr int kMaxSpells = 64;
/// Longer than a hypervisor keeps a CPU, or than a task takes to pass a wake-up on.
constexpr DurationNs kLongNs = 100'000'000;

bool stolen_is_told(const wst_api& call) {
  return call.ret != WST_API_OPEN && call.stolen_ns <= call.h.ts - call.entry_ns;
}

/// What the hypervisor took of the call's time, at most: it can lie anywhere in it.
DurationNs stolen_of(const wst_api& call) {
  return stolen_is_told(call) ? static_cast<DurationNs>(call.stolen_ns) : kLongNs;
}

}  // namespace

TimeNs looked_by(const wst_api& call, TimeNs entry, TimeNs end, const History& history) {
  DurationNs left = kLookNs + stolen_of(call);
  const auto spells = history.thread(call.tid);
  auto spell = std::lower_bound(spells.begin(), spells.end(), entry,
                                [](const Spell& s, TimeNs at) { return s.at.hi <= at; });
  for (int i = 0; i < kMaxSpells && spell != spells.end() && spell->at.lo < end; i++, ++spell) {
    const TimeNs from = std::max(entry, spell->at.lo);
    const DurationNs length = spell->at.hi - from;
    if (spell->state == State::kBlocked && spell->for_device) return from;
    if (spell->state == State::kRunning) {
      if (length >= left) return std::min(end, from + left);
      left -= length;
    } else if (spell->state == State::kMixed) {
      left -= std::max<DurationNs>(0, length - spell->off_cpu);
      if (left <= 0) return std::min(end, spell->at.hi);
    }
  }
  return end;
}

bool has_had(const History& history, model::Tid tid, TimeNs from, TimeNs until, DurationNs time) {
  if (until - from < time) return false;
  const auto spells = history.thread(tid);
  auto spell = std::lower_bound(spells.begin(), spells.end(), from,
                                [](const Spell& s, TimeNs at) { return s.at.hi <= at; });
  DurationNs ready = 0;
  for (; spell != spells.end() && spell->at.lo < until; ++spell) {
    if (spell->at.lo - from - ready >= time) return true;
    if (spell->state != State::kRunnable) continue;
    ready += std::min(until, spell->at.hi) - std::max(from, spell->at.lo);
  }
  return until - from - ready >= time;
}

bool hypervisor_steals(const std::vector<wst_api>& api) {
  return std::any_of(api.begin(), api.end(), [](const wst_api& call) {
    return call.stolen_ns > 0 && call.stolen_ns <= call.h.ts - call.entry_ns;
  });
}

Waited how_it_waited(const wst_api& call, const History& history, bool stealing) {
  const auto entry = static_cast<TimeNs>(call.entry_ns), end = static_cast<TimeNs>(call.h.ts);
  const bool open = call.ret == WST_API_OPEN;
  Waited waited;
  if (end - entry <= kReturnNs) return waited;
  const TimeNs looked = looked_by(call, entry, end, history);
  const auto until = [&](TimeNs t) {
    if (t > entry && t >= looked) waited.pending_until = t;
    return waited;
  };
  const DurationNs counted = kReturnNs + stolen_of(call);
  const DurationNs late = counted + (stealing && stolen_is_told(call) ? kUncountedNs : 0);

  // Once the device is done, the thread returns after so much time on the CPU, whenever it gets it.
  DurationNs on_cpu = 0;
  TimeNs at = end;
  for (int i = 0; i < kMaxSpells && at > entry; i++) {
    const Spell* spell = history.before(call.tid, at);
    if (!spell) return waited;
    const TimeNs from = std::max(entry, spell->at.lo);
    switch (spell->state) {
      case State::kRunning:
        if (on_cpu + at - from > late) return until(at - (late - on_cpu));
        on_cpu += at - from;
        at = from;
        continue;
      case State::kMixed: {
        const DurationNs off = std::min(spell->off_cpu, at - from);
        if (on_cpu + at - from - off > late) return until(at - (late - on_cpu) - off);
        on_cpu += at - from - off;
        at = from;
        continue;
      }
      case State::kRunnable:
        if (on_cpu <= counted) waited.late = {from, end};
        at = from;
        continue;
      case State::kBlocked:
        if (!spell->for_device) return waited;
        // It was not done when the thread went to sleep. A task that wakes it may do so late, and
        // who will wake it is not known yet.
        if (open && at == end) return until(std::max(from, at - kLongNs));
        if (spell->by_interrupt) return until(std::max(from, at - late));
        return until(from);
    }
  }
  return waited;
}

}  // namespace whystall::evidence
