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

Stay stay_of(const wst_wait& w) {
  Stay stay;
  const TimeNs in = time(w.h.ts);
  const TimeNs out = std::min(time(w.out_ns), in);
  stay.run = {w.ran_ns ? time(w.ran_ns) : out, out};
  stay.blocked = stay.runnable = {out, out};
  stay.end = out;
  if (w.flags & WST_WAIT_RUNNING) return stay;
  stay.end = in;
  TimeNs runnable = out;
  if (w.flags & (WST_WAIT_BLOCKED | WST_WAIT_BORN)) {
    // A waking on another CPU can come before the switch-out is seen: then it never really slept.
    runnable = w.flags & WST_WAIT_WOKEN ? std::clamp(time(w.wake_ns), out, in) : in;
    stay.blocked = {out, runnable};
  }
  stay.runnable = {runnable, in};
  return stay;
}

void add_stay(std::vector<Piece>& pieces, const wst_wait& w) {
  const Stay stay = stay_of(w);
  add_piece(pieces, stay.run, {{}, State::kRunning, &w});
  add_piece(pieces, stay.blocked, {{}, State::kBlocked, &w});
  add_piece(pieces, stay.runnable, {{}, State::kRunnable, &w});
}

void push_stay(std::vector<Piece>& pieces, const Stay& stay, const wst_wait& w, bool faulted) {
  const auto push = [&](model::Interval at, State state) {
    if (at.length() > 0) pieces.push_back({at, state, &w, false, faulted});
  };
  push(stay.runnable, State::kRunnable);
  push(stay.blocked, State::kBlocked);
  push(stay.run, State::kRunning);
}

}  // namespace whystall::timeline
