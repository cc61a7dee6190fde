// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "timeline/pieces.h"
#include "timeline/stays.h"

namespace whystall::timeline {

using model::Interval;
using model::Tid;
using model::TimeNs;

namespace {

bool wants(const std::unordered_set<Tid>* only, Tid tid) {
  return !only || only->contains(tid);
}

/// The first one that no later one repeats; null: there is none.
const model::Sums* first_sums(std::span<const Timed<model::Sums>> sums, const NextOfThread* next) {
  const model::Sums* later = next && next->sums ? &*next->sums : nullptr;
  if (sums.empty()) return later;
  std::size_t i = 0;
  const auto repeats = [&](const model::Sums* one) {
    return one->head.from_ns == sums[i].record->head.from_ns;
  };
  while (i + 1 < sums.size() && repeats(sums[i + 1].record)) i++;
  return i + 1 == sums.size() && later && repeats(later) ? later : sums[i].record;
}

/// Where to begin, of waits that are sorted, so that what comes before them all is as if it had
/// been begun with the first one: 0, if need be.
std::size_t far_enough(std::span<const Timed<wst_wait>> waits) {
  for (std::size_t i = waits.size(); i-- > 1;) {
    if (Stays::stands_alone(*waits[i].record) && !(waits[i - 1].record->flags & WST_WAIT_OPEN))
      return i - 1;
  }
  return 0;
}

const Later kNothingLater;

}  // namespace

Timeline::Timeline(const model::Recording& recording)
    : Timeline(Slab{recording, std::numeric_limits<TimeNs>::min(), kNothingLater}) {}

Timeline::Timeline(const Slab& slab, const std::unordered_set<Tid>* only) : slab_(slab) {
  add_threads(only);
  add_slices(slab);
  add_moves(slab);
}

const NextOfThread* Timeline::known_after(Tid tid) const {
  const auto known = slab_.later.threads.find(tid);
  return known == slab_.later.threads.end() ? nullptr : &known->second;
}

void Timeline::add_threads(const std::unordered_set<Tid>* only) {
  const auto& waits = slab_.records.waits;
  waits_.reserve(waits.size());
  for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait) {
    if (wants(only, wait->tid)) waits_.add(numbers_.add(wait->tid), time(wait->h.ts), *wait);
  }
  for (const model::Sums& sums : slab_.records.sums) {
    const TimeNs at = time(sums.head.h.ts);
    if (wants(only, sums.head.tid) && at >= slab_.from && time(sums.head.from_ns) < at)
      sums_.add(numbers_.add(sums.head.tid), at, sums);
  }
  for (const auto& [tid, next] : slab_.later.threads) {
    if (wants(only, tid)) numbers_.add(tid);
  }
  threads_.resize(numbers_.size());
  waits_.group(numbers_.size());
  sums_.group(numbers_.size());
  next_.threads.reserve(numbers_.size());
  for (std::uint32_t number = 0; number < threads_.size(); number++) {
    sort_nearly_sorted(waits_.of(number), std::greater());
    sort_nearly_sorted(sums_.of(number), std::less());
    const Tid tid = numbers_.keys()[number];
    next_.threads[tid] = next_of(number, known_after(tid));
  }
}

NextOfThread Timeline::next_of(std::uint32_t number, const NextOfThread* later) {
  const auto all = std::as_const(waits_).of(number);
  const auto end = std::partition_point(
      all.begin(), all.end(), [&](const Timed<wst_wait>& wait) { return wait.at >= slab_.from; });
  const auto waits = all.first(static_cast<std::size_t>(end - all.begin()));
  const std::size_t first = far_enough(waits);
  Stays stays(first == 0 ? later : nullptr, nullptr);
  for (const auto& wait : waits.subspan(first)) stays.add(*wait.record);
  NextOfThread next = stays.next();
  if (const model::Sums* sums = first_sums(std::as_const(sums_).of(number), later))
    next.sums = *sums;
  return next;
}

/// At each instant the first slice to end after it counts, if it had begun.
void Timeline::add_slices(const Slab& slab) {
  std::unordered_map<std::uint32_t, std::vector<const wst_slice*>> cpus;
  for (const wst_slice& s : slab.records.slices) {
    if (time(s.h.ts) >= slab.from && s.start_ns < s.h.ts) cpus[s.h.cpu].push_back(&s);
  }
  for (const auto& [cpu, next] : slab.later.slices) cpus[cpu].push_back(&next);
  for (auto& [cpu, records] : cpus) {
    std::stable_sort(records.begin(), records.end(),
                     [](const wst_slice* a, const wst_slice* b) { return a->h.ts < b->h.ts; });
    next_.slices[cpu] = *records.front();
    auto& slices = slices_[cpu];
    for (const wst_slice* s : records) {
      Interval at{time(s->start_ns), time(s->h.ts)};
      if (!slices.empty()) at.lo = std::max(at.lo, slices.back().at.hi);
      if (at.length() > 0) slices.push_back({at, s->tid, s->tgid, s});
    }
  }
}

void Timeline::add_moves(const Slab& slab) {
  const auto add = [&](const wst_migrate& move) {
    moves_.add(movers_.add(move.tid), time(move.h.ts), move);
  };
  const auto add_and_pass_on = [&](const wst_migrate& move) {
    add(move);
    const auto thread = next_.threads.find(move.tid);
    if (thread == next_.threads.end() || !thread->second.wait) return;
    const wst_wait& wait = *thread->second.wait;
    if (move.h.ts >= wait.out_ns && move.h.ts <= wait.h.ts) next_.moves.push_back(move);
  };
  for (const wst_migrate& move : slab.records.migrations) {
    if (time(move.h.ts) >= slab.from) add_and_pass_on(move);
  }
  for (const wst_migrate& move : slab.later.moves) add_and_pass_on(move);
  for (const wst_migrate& move : slab.moved_before) add(move);
  moves_.group(movers_.size());
  for (std::uint32_t number = 0; number < movers_.size(); number++)
    sort_nearly_sorted(moves_.of(number), std::less());
}

Segments* Timeline::segments(Tid tid) const {
  const std::uint32_t number = numbers_.find(tid);
  if (number == model::Numbering::kNone) return nullptr;
  auto& segments = threads_[number];
  if (!segments)
    segments = std::make_unique<Segments>(std::as_const(waits_).of(number),
                                          std::as_const(sums_).of(number), known_after(tid));
  return segments.get();
}

std::vector<Piece> Timeline::thread(Tid tid) const {
  std::vector<Piece> pieces;
  constexpr Interval kAlways{std::numeric_limits<TimeNs>::min(),
                             std::numeric_limits<TimeNs>::max()};
  each(tid, kAlways, [&](const Piece& piece) { pieces.push_back(piece); });
  return pieces;
}

const Piece* Timeline::before(Tid tid, TimeNs t) const {
  Segments* of = segments(tid);
  return of ? of->before(t, store_) : nullptr;
}

TimeNs Timeline::covered_until(Tid tid, TimeNs t) const {
  Segments* of = segments(tid);
  return of ? of->covered_until(t, store_) : 0;
}

std::vector<Queue> Timeline::queues(const wst_wait& wait, Interval at) const {
  if (!(wait.flags & WST_WAIT_MIGRATED)) return {{at, wait.h.cpu}};
  const std::uint32_t mover = movers_.find(wait.tid);
  if (mover == model::Numbering::kNone) return {};
  const auto moves = moves_.of(mover);
  auto next = std::partition_point(moves.begin(), moves.end(), [&](const Timed<wst_migrate>& move) {
    return move.at < time(wait.out_ns);
  });
  std::vector<Queue> queues;
  TimeNs from = at.lo;
  bool complete = false;
  for (; next != moves.end(); ++next) {
    const wst_migrate* move = next->record;
    const TimeNs t = next->at;
    if (t > time(wait.h.ts)) break;
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
