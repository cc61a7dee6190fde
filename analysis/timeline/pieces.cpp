// SPDX-License-Identifier: Apache-2.0
#include "timeline/pieces.h"

#include <algorithm>

namespace whystall::timeline {

using model::TimeNs;

void add_piece(std::vector<Piece>& pieces, model::Interval at, Piece like) {
  if (!pieces.empty()) at.lo = std::max(at.lo, pieces.back().at.hi);
  if (at.length() <= 0) return;
  like.at = at;
  pieces.push_back(like);
}

void add_stay(std::vector<Piece>& pieces, const wst_wait& w) {
  auto add = [&](TimeNs lo, TimeNs hi, State state) {
    add_piece(pieces, {lo, hi}, {{}, state, &w});
  };
  if (w.ran_ns) add(time(w.ran_ns), time(w.out_ns), State::kRunning);
  if (w.flags & WST_WAIT_RUNNING) return;
  const TimeNs in = time(w.h.ts);
  TimeNs runnable = time(w.out_ns);
  if (w.flags & (WST_WAIT_BLOCKED | WST_WAIT_BORN)) {
    // A waking on another CPU can come before the switch-out is seen: then it never really slept.
    runnable = w.flags & WST_WAIT_WOKEN
                   ? std::clamp(time(w.wake_ns), time(w.out_ns), std::max(in, time(w.out_ns)))
                   : in;
    add(time(w.out_ns), runnable, State::kBlocked);
  }
  add(runnable, in, State::kRunnable);
}

}  // namespace whystall::timeline
