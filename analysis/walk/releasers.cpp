// SPDX-License-Identifier: Apache-2.0
#include "walk/releasers.h"

#include <algorithm>

#include "walk/wait_kind.h"

namespace whystall::walk {

using model::Interval;
using model::TimeNs;
using timeline::Piece;
using timeline::State;

namespace {

/// A pool that is larger is no barrier of a few.
constexpr std::size_t kMostThreads = 256;

bool is_at_work(const Piece& piece) {
  if (piece.state != State::kBlocked) return true;
  const wst_wait& wait = *piece.wait;
  return wait.nr < 0 || is_metadata(wait.nr) ||
         (wait.file_kind == WST_FILE_REGULAR && (is_file_read(wait.nr) || is_file_write(wait.nr)));
}

}  // namespace

Releasers::Releasers(const model::Recording& recording, const timeline::Timeline& timeline,
                     const Polling& polling)
    : timeline_(timeline), polling_(polling) {
  for (const auto& [tid, task] : recording.tasks) {
    if (task.target) threads_[task.pid].push_back(tid);
  }
}

void Releasers::add_busy(model::Tid tid, Interval at, std::vector<Part>& busy) const {
  const auto& polls = polling_.times(tid);
  timeline_.each(tid, at, [&](const Piece& piece) {
    if (!is_at_work(piece)) return;
    Interval part{std::max(piece.at.lo, at.lo), std::min(piece.at.hi, at.hi)};
    if (piece.state == State::kRunning) {
      for (const Interval& poll : polls) {
        if (poll.hi <= part.lo || poll.lo >= part.hi) continue;
        if (poll.lo > part.lo) busy.push_back({{part.lo, poll.lo}, tid});
        part.lo = std::min(poll.hi, part.hi);
      }
    }
    if (part.length() > 0) busy.push_back({part, tid});
  });
}

std::vector<Releasers::Part> Releasers::of(model::Pid pid, model::Tid waiting, Interval at) const {
  std::vector<Part> busy;
  const auto threads = threads_.find(pid);
  if (threads != threads_.end() && threads->second.size() <= kMostThreads) {
    for (const model::Tid tid : threads->second) {
      if (tid != waiting) add_busy(tid, at, busy);
    }
  }
  // At each time that something begins or ends: how many are at work, and which, if it is one.
  std::map<TimeNs, std::pair<int, std::int64_t>> changes{{at.lo, {0, 0}}, {at.hi, {0, 0}}};
  for (const Part& part : busy) {
    auto& begin = changes[part.at.lo];
    begin.first++;
    begin.second += part.tid;
    auto& end = changes[part.at.hi];
    end.first--;
    end.second -= part.tid;
  }
  std::vector<Part> parts;
  int count = 0;
  std::int64_t sum = 0;  // of their numbers
  for (auto change = changes.begin(); std::next(change) != changes.end(); ++change) {
    count += change->second.first;
    sum += change->second.second;
    const Interval here{change->first, std::next(change)->first};
    const auto tid = count == 1 ? static_cast<model::Tid>(sum) : 0;
    if (!parts.empty() && parts.back().tid == tid)
      parts.back().at.hi = here.hi;
    else
      parts.push_back({here, tid});
  }
  return parts;
}

}  // namespace whystall::walk
