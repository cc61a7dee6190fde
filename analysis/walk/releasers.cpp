// SPDX-License-Identifier: Apache-2.0
#include "walk/releasers.h"

#include <algorithm>

namespace whystall::walk {

using model::Interval;
using model::TimeNs;
using timeline::Piece;
using timeline::State;

namespace {

/// A pool that is larger is no barrier of a few.
constexpr std::size_t kMostThreads = 256;
/// How far back the last run of a thread is looked for.
constexpr int kMostPieces = 64;

}  // namespace

Releasers::Releasers(const model::Recording& recording, const timeline::Timeline& timeline,
                     const Polling& polling)
    : timeline_(timeline), polling_(polling) {
  for (const auto& [tid, task] : recording.tasks) {
    if (task.target) threads_[task.pid].push_back(tid);
  }
}

Releasers::Released Releasers::of(model::Pid pid, model::Tid waiting, Interval at) const {
  const auto threads = threads_.find(pid);
  if (threads == threads_.end() || threads->second.size() > kMostThreads) return {};
  Released last;
  bool several = false;
  for (const model::Tid tid : threads->second) {
    if (tid == waiting) continue;
    TimeNs t = at.hi;
    for (int i = 0; i < kMostPieces && t > at.lo; i++) {
      const Piece* piece = timeline_.before(tid, t);
      if (!piece) break;
      const bool ran = piece->state == State::kRunning || piece->state == State::kMixed;
      if (ran) {
        const Interval run{std::max(piece->at.lo, at.lo), t};
        if (polling_.polls(tid, run)) break;
        several = several || (last.tid != 0 && t == last.until);
        if (t > last.until) {
          last = {tid, t};
          several = false;
        }
        break;
      }
      t = piece->at.lo;
    }
  }
  return several ? Released{} : last;
}

}  // namespace whystall::walk
