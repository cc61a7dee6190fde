// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>
#include <utility>

#include "abi/syscalls.h"
#include "timeline/pieces.h"
#include "timeline/sums.h"

namespace whystall::timeline {

namespace {

using model::DurationNs;
using model::Interval;
using model::TimeNs;

/// What a wait loop may compute between two waits on the same word and still have made no progress:
/// one that looks around after a time-out, and one that only finds the word taken again.
constexpr DurationNs kLoopNs = 200'000;
constexpr DurationNs kRaceNs = 10'000;

bool is_poll(std::int32_t nr) {
  return nr == WST_NR_POLL || nr == WST_NR_PPOLL || nr == WST_NR_SELECT || nr == WST_NR_PSELECT6 ||
         nr == WST_NR_EPOLL_WAIT || nr == WST_NR_EPOLL_PWAIT || nr == WST_NR_EPOLL_PWAIT2;
}

/// Whether both wait on the same word or for the same file. A condition has two words, side by
/// side, which it uses in turn.
bool on_the_same(const wst_wait& a, const wst_wait& b) {
  constexpr std::uint64_t kPair = ~std::uint64_t{7};
  if (a.nr != b.nr) return false;
  if (a.nr == WST_NR_FUTEX) return (a.args[0] & kPair) == (b.args[0] & kPair);
  return is_poll(a.nr) && a.ino != 0 && a.ino == b.ino && a.dev == b.dev;
}

/// `b` goes on with the wait of `a`, having run for `ran` in between: on the same thing, after a
/// time-out or a wake by the same task.
bool goes_on(const wst_wait& a, const wst_wait& b, DurationNs ran) {
  if (!on_the_same(a, b) || !(a.flags & WST_WAIT_WOKEN)) return false;
  if (a.waker_context == WST_CTX_TIMER) return ran <= kLoopNs;
  return a.nr == WST_NR_FUTEX && ran <= kRaceNs && (b.flags & WST_WAIT_WOKEN) &&
         a.waker_context == b.waker_context && a.waker_tid == b.waker_tid;
}

/// The blocked piece that goes on with the wait of the blocked piece `i`, or `i` itself.
std::size_t continuation(const std::vector<Piece>& pieces, std::size_t i) {
  DurationNs ran = 0;
  std::size_t next = i + 1;
  for (; next < pieces.size() && pieces[next].at.lo == pieces[next - 1].at.hi; next++) {
    if (pieces[next].state == State::kBlocked) {
      return goes_on(*pieces[i].wait, *pieces[next].wait, ran) ? next : i;
    }
    if (pieces[next].state == State::kRunning) ran += pieces[next].at.length();
  }
  return i;
}

/// A timed wait that expired, or lost the race for the word, and waits on the same word again is
/// one wait: it ends with the last wake-up, and whoever gave that one is the cause. The short runs
/// between belong to it; time waiting for a CPU stays what it is.
void merge_rewaits(std::vector<Piece>& pieces) {
  for (std::size_t i = 0; i < pieces.size(); i++) {
    if (pieces[i].state != State::kBlocked) continue;
    std::size_t last = i;
    for (std::size_t next = continuation(pieces, last); next != last;
         next = continuation(pieces, last)) {
      last = next;
    }
    if (last == i) continue;
    const wst_wait* wait = pieces[last].wait;
    for (std::size_t p = i; p <= last; p++) {
      if (pieces[p].state == State::kRunnable) continue;
      pieces[p].state = State::kBlocked;
      pieces[p].wait = wait;
      pieces[p].merged = true;
    }
    i = last;
  }
  std::vector<Piece> joined;
  for (const Piece& piece : pieces) {
    const bool goes_on_here = !joined.empty() && piece.merged && joined.back().merged &&
                              joined.back().wait == piece.wait &&
                              joined.back().at.hi == piece.at.lo;
    if (goes_on_here)
      joined.back().at.hi = piece.at.hi;
    else
      joined.push_back(piece);
  }
  pieces = std::move(joined);
}

}  // namespace

Timeline::Timeline(const model::Recording& recording) {
  std::map<model::Tid, std::vector<const wst_wait*>> by_thread;
  for (const wst_wait& w : recording.waits) by_thread[w.tid].push_back(&w);
  auto sums_of = sums_by_thread(recording);
  for (const auto& [tid, sums] : sums_of) by_thread.try_emplace(tid);
  for (auto& [tid, waits] : by_thread) {
    // An open wait of a live view may be followed by the same wait, ended.
    std::stable_sort(waits.begin(), waits.end(),
                     [](const wst_wait* a, const wst_wait* b) { return a->out_ns < b->out_ns; });
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < waits.size(); i++) {
      const bool repeated = i + 1 < waits.size() && waits[i + 1]->out_ns == waits[i]->out_ns;
      if (repeated && (waits[i]->flags & WST_WAIT_OPEN)) continue;
      const std::size_t first = pieces.size();
      add_stay(pieces, *waits[i]);
      const bool fault =
          i + 1 < waits.size() && waits[i + 1]->major_faults != waits[i]->major_faults;
      for (std::size_t p = first; p < pieces.size(); p++) pieces[p].faulted = fault;
    }
    merge_rewaits(pieces);
    const auto sums = sums_of.find(tid);
    if (sums != sums_of.end()) {
      pieces = overlay(pieces, pieces_of_sums(sums->second, summed_, mixes_));
    }
    threads_[tid] = std::move(pieces);
  }
  for (const wst_migrate& m : recording.migrations) moves_[m.tid].push_back(&m);
  for (const wst_slice& s : recording.slices) {
    auto& slices = slices_[s.h.cpu];
    Interval at{time(s.start_ns), time(s.h.ts)};
    if (!slices.empty()) at.lo = std::max(at.lo, slices.back().at.hi);
    if (at.length() > 0) slices.push_back({at, s.tid, s.tgid, &s});
  }
}

std::span<const Piece> Timeline::thread(model::Tid tid) const {
  const auto it = threads_.find(tid);
  if (it == threads_.end()) return {};
  return it->second;
}

const Piece* Timeline::before(model::Tid tid, TimeNs t) const {
  const auto pieces = thread(tid);
  const auto it = std::lower_bound(pieces.begin(), pieces.end(), t,
                                   [](const Piece& p, TimeNs at) { return p.at.hi < at; });
  if (it == pieces.end() || it->at.lo >= t) return nullptr;
  return &*it;
}

const Piece* Timeline::at(model::Tid tid, TimeNs t) const {
  const auto pieces = thread(tid);
  const auto it = std::lower_bound(pieces.begin(), pieces.end(), t,
                                   [](const Piece& p, TimeNs at) { return p.at.hi <= at; });
  if (it == pieces.end() || it->at.lo > t) return nullptr;
  return &*it;
}

TimeNs Timeline::covered_until(model::Tid tid, TimeNs t) const {
  const auto pieces = thread(tid);
  const auto it = std::lower_bound(pieces.begin(), pieces.end(), t,
                                   [](const Piece& p, TimeNs at) { return p.at.hi <= at; });
  return it == pieces.begin() ? 0 : std::prev(it)->at.hi;
}

std::vector<Queue> Timeline::queues(const wst_wait& wait, Interval at) const {
  if (!(wait.flags & WST_WAIT_MIGRATED)) return {{at, wait.h.cpu}};
  const auto found = moves_.find(wait.tid);
  if (found == moves_.end()) return {};
  std::vector<Queue> queues;
  TimeNs from = at.lo;
  bool complete = false;
  for (const wst_migrate* move : found->second) {
    const TimeNs t = time(move->h.ts);
    if (t < time(wait.out_ns) || t > time(wait.h.ts)) continue;
    complete = move->to_cpu == wait.h.cpu;
    if (t <= from) continue;
    if (from < at.hi) queues.push_back({{from, std::min(t, at.hi)}, move->from_cpu});
    from = std::min(t, at.hi);
  }
  if (!complete) return {};
  if (from < at.hi) queues.push_back({{from, at.hi}, wait.h.cpu});
  return queues;
}

std::span<const Slice> Timeline::ran_on(std::uint32_t cpu, Interval at) const {
  const auto found = slices_.find(cpu);
  if (found == slices_.end()) return {};
  const auto& slices = found->second;
  const auto first = std::lower_bound(slices.begin(), slices.end(), at.lo,
                                      [](const Slice& s, TimeNs t) { return s.at.hi <= t; });
  auto last = first;
  while (last != slices.end() && last->at.lo < at.hi) ++last;
  return {first, last};
}

}  // namespace whystall::timeline
