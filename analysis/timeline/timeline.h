// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/numbering.h"
#include "model/recording.h"
#include "timeline/grouped.h"
#include "timeline/later.h"
#include "timeline/piece.h"
#include "timeline/segments.h"

namespace whystall::timeline {

/// Who ran on a CPU; slices of one CPU, by time.
struct Slice {
  model::Interval at;
  model::Tid tid;
  model::Pid pid;
  const wst_slice* record;
};

/// Where a runnable thread waited.
struct Queue {
  model::Interval at;
  std::uint32_t cpu;
};

/// A part of a recording, with what must be known of the rest. All of it must outlive the timeline.
struct Slab {
  /// Those whose time lies in the part, in any order, and the waits that end within kBetweenWaits
  /// before it.
  const model::Recording& records;
  model::TimeNs from = 0;  // where the part begins
  const Later& later;      // of its end
  /// The last move of each thread before the part.
  std::span<const wst_migrate> moved_before = {};
};

/// Threads' pieces, sorted and without overlap; what is not covered was not recorded. Of a slab,
/// what it tells of the time outside of it means nothing.
///
/// Of the many threads of a host, few are asked for: and of those not for all time: pieces are made
/// when they first are. So no two threads of this program may ask at the same time.
class Timeline {
 public:
  /// The recording must outlive it.
  explicit Timeline(const model::Recording& recording);
  /// `only`, if it is not null: of no other threads.
  explicit Timeline(const Slab& slab, const std::unordered_set<model::Tid>* only = nullptr);

  /// All of them.
  std::vector<Piece> thread(model::Tid tid) const;
  /// Calls `visit` for those that touch `at`, by time.
  template <typename Visit>
  void each(model::Tid tid, model::Interval at, Visit visit) const {
    if (Segments* of = segments(tid)) of->each(at, store_, visit);
  }

  /// The piece that holds the instant just before `t`; null when none is recorded there.
  const Piece* before(model::Tid tid, model::TimeNs t) const;
  /// The end of the last piece that ends at or before `t`; 0 when there is none.
  model::TimeNs covered_until(model::Tid tid, model::TimeNs t) const;

  /// The CPUs that the thread of `wait` waited for in `at`, by time; empty when it was moved and
  /// the record of that is missing.
  std::vector<Queue> queues(const wst_wait& wait, model::Interval at) const;

  /// Slices on `cpu` that touch `at`.
  std::span<const Slice> ran_on(std::uint32_t cpu, model::Interval at) const;

  /// What the timeline of the slab before this one needs to know of this one. The slabs' `later`
  /// must be the same ones as of this timeline.
  Later take_later() { return std::move(next_); }

  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

 private:
  void add_threads(const std::unordered_set<model::Tid>* only);
  void add_slices(const Slab& slab);
  void add_moves(const Slab& slab);
  const NextOfThread* known_after(model::Tid tid) const;
  NextOfThread next_of(std::uint32_t number, const NextOfThread* later);
  Segments* segments(model::Tid tid) const;

  Slab slab_;
  model::Numbering numbers_;   // of threads
  Grouped<wst_wait> waits_;    // the last to end first
  Grouped<model::Sums> sums_;  // by time
  mutable std::vector<std::unique_ptr<Segments>> threads_;
  mutable Store store_;
  model::Numbering movers_;     // threads that were moved
  Grouped<wst_migrate> moves_;  // by time
  std::unordered_map<std::uint32_t, std::vector<Slice>> slices_;
  Later next_;
};

}  // namespace whystall::timeline
