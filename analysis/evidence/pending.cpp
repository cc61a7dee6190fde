// SPDX-License-Identifier: Apache-2.0
#include "evidence/pending.h"

#include <algorithm>

#include "abi/syscalls.h"

namespace whystall::evidence {

using model::DurationNs;
using model::TimeNs;
using timeline::Piece;
using timeline::State;

namespace {

constexpr int kMaxPieces = 64;
/// Longer than a hypervisor keeps a CPU, or than a task takes to pass a wake-up on.
constexpr DurationNs kLongNs = 100'000'000;

DurationNs off_cpu(const timeline::Mix& mix) {
  DurationNs sum = 0;
  for (const timeline::Share& share : mix.shares) sum += share.blocked + share.runnable;
  return sum;
}

/// Woken by the device's interrupt, or by what stands for it.
bool woken_by_interrupt(const wst_wait& wait) {
  return (wait.flags & WST_WAIT_WOKEN) != 0 &&
         (wait.waker_context == WST_CTX_HARDIRQ || wait.waker_context == WST_CTX_SOFTIRQ ||
          wait.waker_context == WST_CTX_TIMER);
}

/// Asleep until the device's work is done; any other sleep within a driver call is for a lock.
bool waits_for_device(const wst_wait& wait) {
  switch (wait.nr) {
    case WST_NR_POLL:
    case WST_NR_PPOLL:
    case WST_NR_SELECT:
    case WST_NR_PSELECT6:
    case WST_NR_EPOLL_WAIT:
    case WST_NR_EPOLL_PWAIT:
      return true;
    default:
      return false;
  }
}

bool stolen_is_told(const wst_api& call) {
  return call.ret != WST_API_OPEN && call.stolen_ns <= call.h.ts - call.entry_ns;
}

/// What the hypervisor took of the call's time, at most: it can lie anywhere in it.
DurationNs stolen_of(const wst_api& call) {
  return stolen_is_told(call) ? static_cast<DurationNs>(call.stolen_ns) : kLongNs;
}

}  // namespace

TimeNs looked_by(const wst_api& call, TimeNs entry, TimeNs end,
                 const timeline::Timeline& timeline) {
  DurationNs left = kLookNs + stolen_of(call);
  const auto pieces = timeline.thread(call.tid);
  auto piece = std::lower_bound(pieces.begin(), pieces.end(), entry,
                                [](const Piece& p, TimeNs at) { return p.at.hi <= at; });
  for (int i = 0; i < kMaxPieces && piece != pieces.end() && piece->at.lo < end; i++, ++piece) {
    const TimeNs from = std::max(entry, piece->at.lo);
    const DurationNs length = piece->at.hi - from;
    if (piece->state == State::kBlocked && waits_for_device(*piece->wait)) return from;
    if (piece->state == State::kRunning) {
      if (length >= left) return std::min(end, from + left);
      left -= length;
    } else if (piece->state == State::kMixed) {
      left -= std::max<DurationNs>(0, length - off_cpu(*piece->mix));
      if (left <= 0) return std::min(end, piece->at.hi);
    }
  }
  return end;
}

bool has_had(const timeline::Timeline& timeline, model::Tid tid, TimeNs from, TimeNs until,
             DurationNs time) {
  if (until - from < time) return false;
  const auto pieces = timeline.thread(tid);
  auto piece = std::lower_bound(pieces.begin(), pieces.end(), from,
                                [](const Piece& p, TimeNs at) { return p.at.hi <= at; });
  DurationNs ready = 0;
  for (; piece != pieces.end() && piece->at.lo < until; ++piece) {
    if (piece->at.lo - from - ready >= time) return true;
    if (piece->state != State::kRunnable) continue;
    ready += std::min(until, piece->at.hi) - std::max(from, piece->at.lo);
  }
  return until - from - ready >= time;
}

bool hypervisor_steals(const std::vector<wst_api>& api) {
  return std::any_of(api.begin(), api.end(), [](const wst_api& call) {
    return call.stolen_ns > 0 && call.stolen_ns <= call.h.ts - call.entry_ns;
  });
}

Waited how_it_waited(const wst_api& call, const timeline::Timeline& timeline, bool stealing) {
  const auto entry = static_cast<TimeNs>(call.entry_ns), end = static_cast<TimeNs>(call.h.ts);
  const bool open = call.ret == WST_API_OPEN;
  Waited waited;
  if (end - entry <= kReturnNs) return waited;
  const TimeNs looked = looked_by(call, entry, end, timeline);
  const auto until = [&](TimeNs t) {
    if (t > entry && t >= looked) waited.pending_until = t;
    return waited;
  };
  const DurationNs counted = kReturnNs + stolen_of(call);
  const DurationNs late = counted + (stealing && stolen_is_told(call) ? kUncountedNs : 0);

  // Once the device is done, the thread returns after so much time on the CPU, whenever it gets it.
  DurationNs on_cpu = 0;
  TimeNs at = end;
  for (int i = 0; i < kMaxPieces && at > entry; i++) {
    const Piece* piece = timeline.before(call.tid, at);
    if (!piece) return waited;
    const TimeNs from = std::max(entry, piece->at.lo);
    switch (piece->state) {
      case State::kRunning:
        if (on_cpu + at - from > late) return until(at - (late - on_cpu));
        on_cpu += at - from;
        at = from;
        continue;
      case State::kMixed: {
        const DurationNs off = std::min(off_cpu(*piece->mix), at - from);
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
        if (!waits_for_device(*piece->wait)) return waited;
        // It was not done when the thread went to sleep. A task that wakes it may do so late, and
        // who will wake it is not known yet.
        if (open && at == end) return until(std::max(from, at - kLongNs));
        if (woken_by_interrupt(*piece->wait)) return until(std::max(from, at - late));
        return until(from);
    }
  }
  return waited;
}

}  // namespace whystall::evidence
