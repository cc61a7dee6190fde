// SPDX-License-Identifier: Apache-2.0
#include "timeline/timeline.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "timeline/pieces.h"
#include "timeline/stays.h"
#include "timeline/sums.h"

namespace whystall::timeline {

using model::Interval;
using model::Tid;
using model::TimeNs;

namespace {

/// The records of one thread, as it was read.
struct OfThread {
  std::vector<const wst_wait*> waits;
  std::vector<const model::Sums*> sums;
};

bool wants(const std::unordered_set<Tid>* only, Tid tid) {
  return !only || only->contains(tid);
}

/// The last to end comes first.
bool ends_later(const wst_wait* a, const wst_wait* b) {
  return a->h.ts > b->h.ts;
}

/// By time, with what is known from later slabs. A snapshot that a later record repeats is left
/// out.
std::vector<const model::Sums*> by_time(std::vector<const model::Sums*> sums,
                                        const NextOfThread* next) {
  std::stable_sort(sums.begin(), sums.end(), [](const model::Sums* a, const model::Sums* b) {
    return a->head.h.ts < b->head.h.ts;
  });
  if (next && next->sums) sums.push_back(&*next->sums);
  std::vector<const model::Sums*> kept;
  for (const model::Sums* one : sums) {
    const bool repeats = !kept.empty() && kept.back()->head.from_ns == one->head.from_ns;
    if (repeats)
      kept.back() = one;
    else
      kept.push_back(one);
  }
  return kept;
}

}  // namespace

Timeline::Timeline(const model::Recording& recording)
    : Timeline(Slab{recording, std::numeric_limits<TimeNs>::min(), Later{}}) {}

Timeline::Timeline(const Slab& slab, const std::unordered_set<Tid>* only) {
  add_threads(slab, only);
  add_slices(slab);
  add_moves(slab);
  add_pollsets(slab);
}

void Timeline::add_threads(const Slab& slab, const std::unordered_set<Tid>* only) {
  std::unordered_map<Tid, OfThread> records;
  for (const wst_wait& wait : slab.records.waits) {
    if (wants(only, wait.tid)) records[wait.tid].waits.push_back(&wait);
  }
  for (const model::Sums& sums : slab.records.sums) {
    if (wants(only, sums.head.tid) && time(sums.head.h.ts) >= slab.from &&
        sums.head.from_ns < sums.head.h.ts)
      records[sums.head.tid].sums.push_back(&sums);
  }
  for (const auto& [tid, next] : slab.later.threads) {
    if (wants(only, tid)) records.try_emplace(tid);
  }
  std::vector<Piece> room;  // used again for each thread
  for (auto& [tid, of_thread] : records) {
    const auto known = slab.later.threads.find(tid);
    const NextOfThread* later = known == slab.later.threads.end() ? nullptr : &known->second;
    auto& waits = of_thread.waits;
    std::reverse(waits.begin(), waits.end());
    if (!std::is_sorted(waits.begin(), waits.end(), ends_later))
      std::stable_sort(waits.begin(), waits.end(), ends_later);
    Stays stays(later, room);
    const auto inside = std::find_if(waits.begin(), waits.end(), [&](const wst_wait* wait) {
      return time(wait->h.ts) < slab.from;
    });
    std::for_each(waits.begin(), inside, [&](const wst_wait* wait) { stays.add(*wait); });
    NextOfThread next = stays.next();
    std::for_each(inside, waits.end(), [&](const wst_wait* wait) { stays.add(*wait); });
    auto pieces = stays.take();
    const auto sums = by_time(std::move(of_thread.sums), later);
    if (!sums.empty()) {
      next.sums = *sums.front();
      pieces_of_sums(sums, summed_, mixes_, room);
      pieces = overlay(pieces, room);
    }
    next_.threads[tid] = std::move(next);
    threads_[tid] = std::move(pieces);
  }
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
  for (const wst_migrate& move : slab.records.migrations) {
    if (time(move.h.ts) < slab.from) continue;
    moves_.push_back(&move);
  }
  for (const wst_migrate& move : slab.later.moves) moves_.push_back(&move);
  for (const wst_migrate* move : moves_) {
    const auto thread = next_.threads.find(move->tid);
    if (thread == next_.threads.end() || !thread->second.wait) continue;
    const wst_wait& wait = *thread->second.wait;
    if (move->h.ts >= wait.out_ns && move->h.ts <= wait.h.ts) next_.moves.push_back(*move);
  }
  for (const wst_migrate& move : slab.moved_before) moves_.push_back(&move);
  std::stable_sort(moves_.begin(), moves_.end(), [](const wst_migrate* a, const wst_migrate* b) {
    return std::pair(a->tid, a->h.ts) < std::pair(b->tid, b->h.ts);
  });
}

void Timeline::add_pollsets(const Slab& slab) {
  for (const wst_pollset& set : slab.records.pollsets) {
    if (time(set.h.ts) >= slab.from) pollsets_.push_back(&set);
  }
  for (const wst_pollset& set : slab.later.pollsets) pollsets_.push_back(&set);
  for (const wst_pollset* set : pollsets_) {
    const auto thread = next_.threads.find(set->tid);
    if (thread != next_.threads.end() && thread->second.wait &&
        thread->second.wait->out_ns == set->out_ns)
      next_.pollsets.push_back(*set);
  }
  std::stable_sort(pollsets_.begin(), pollsets_.end(),
                   [](const wst_pollset* a, const wst_pollset* b) {
                     return std::pair(a->tid, a->out_ns) < std::pair(b->tid, b->out_ns);
                   });
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

TimeNs Timeline::covered_until(model::Tid tid, TimeNs t) const {
  const auto pieces = thread(tid);
  const auto it = std::lower_bound(pieces.begin(), pieces.end(), t,
                                   [](const Piece& p, TimeNs at) { return p.at.hi <= at; });
  return it == pieces.begin() ? 0 : std::prev(it)->at.hi;
}

std::vector<Queue> Timeline::queues(const wst_wait& wait, Interval at) const {
  if (!(wait.flags & WST_WAIT_MIGRATED)) return {{at, wait.h.cpu}};
  const auto first = std::lower_bound(
      moves_.begin(), moves_.end(), std::pair(wait.tid, wait.out_ns),
      [](const wst_migrate* m, const auto& key) { return std::pair(m->tid, m->h.ts) < key; });
  std::vector<Queue> queues;
  TimeNs from = at.lo;
  bool complete = false;
  for (auto next = first; next != moves_.end() && (*next)->tid == wait.tid; ++next) {
    const wst_migrate* move = *next;
    const TimeNs t = time(move->h.ts);
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

const wst_pollset* Timeline::pollset(const wst_wait& wait) const {
  const auto found = std::lower_bound(
      pollsets_.begin(), pollsets_.end(), std::pair(wait.tid, wait.out_ns),
      [](const wst_pollset* s, const auto& key) { return std::pair(s->tid, s->out_ns) < key; });
  if (found == pollsets_.end() || (*found)->tid != wait.tid || (*found)->out_ns != wait.out_ns)
    return nullptr;
  return *found;
}

}  // namespace whystall::timeline
