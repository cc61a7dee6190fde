// SPDX-License-Identifier: Apache-2.0
#include "evidence/pending.h"

#include <algorithm>

namespace whystall::evidence {

using model::DurationNs;
using model::TimeNs;
using timeline::Piece;
using timeline::State;

namespace {

constexpr int kMaxPieces = 64;

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

}  // namespace

bool hypervisor_steals(const std::vector<wst_api>& api) {
  return std::any_of(api.begin(), api.end(), [](const wst_api& call) {
    return call.stolen_ns > 0 && call.stolen_ns <= call.h.ts - call.entry_ns;
  });
}

Waited how_it_waited(const wst_api& call, const timeline::Timeline& timeline, bool stealing) {
  const auto entry = static_cast<TimeNs>(call.entry_ns), end = static_cast<TimeNs>(call.h.ts);
  const bool open = call.ret == WST_API_OPEN;
  Waited waited;
  const auto until = [&](TimeNs t) {
    if (t > entry) waited.pending_until = t;
    return waited;
  };
  if (end - entry <= kReturnNs) return waited;
  // What the hypervisor took can lie anywhere in the call.
  const bool told = call.stolen_ns <= static_cast<std::uint64_t>(end - entry);
  const DurationNs counted = kReturnNs + (told ? static_cast<DurationNs>(call.stolen_ns) : 0);
  DurationNs late = counted;
  if (stealing) late += told ? kUncountedNs : end - entry;

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
        if (open && at == end) return until(end);
        if (woken_by_interrupt(*piece->wait)) return until(at - late);
        return until(from);  // it was not done when the thread went to sleep
    }
  }
  return waited;
}

}  // namespace whystall::evidence
