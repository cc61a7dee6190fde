// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/recording.h"
#include "timeline/later.h"

namespace whystall::timeline {

enum class State { kRunning, kRunnable, kBlocked, kMixed };

/// What was added up in a stretch of time, where only totals are known.
struct Share {
  const wst_wait* wait;  // call, object and waker; its times mean nothing
  model::DurationNs blocked;
  model::DurationNs runnable;
};

/// The rest of `length` was on the CPU. The shares never exceed it.
struct Mix {
  model::DurationNs length = 0;
  std::vector<Share> shares;
};

/// A piece of a thread's life in one state. `wait` is the record that tells of it: for a run, the
/// stay off the CPU that followed. Logical waits (merged re-waits on the same object) are one
/// blocked piece whose record is the last one, the one with the wake-up that counts; the last one's
/// own time is a piece by itself, and not merged. In a mixed piece the order of the states is not
/// known, only how much there was of each in `mix`, of which the piece is a part.
struct Piece {
  model::Interval at;
  State state;
  const wst_wait* wait;
  bool merged = false;
  bool faulted =
      false;  // a major page fault of the thread ended between this wait and its next one
  const wst_wait* leads_to = nullptr;  // of a runnable one: the sleep that it went on to at once
  const Mix* mix = nullptr;
  model::TimeNs mix_begin = 0;  // where all of the mix would begin, were nothing known in between
};

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
class Timeline {
 public:
  explicit Timeline(const model::Recording& recording);
  /// `only`, if it is not null: of no other threads.
  explicit Timeline(const Slab& slab, const std::unordered_set<model::Tid>* only = nullptr);

  std::span<const Piece> thread(model::Tid tid) const;

  /// The piece that holds the instant just before `t`; null when none is recorded there.
  const Piece* before(model::Tid tid, model::TimeNs t) const;
  /// The end of the last piece that ends at or before `t`; 0 when there is none.
  model::TimeNs covered_until(model::Tid tid, model::TimeNs t) const;

  /// The CPUs that the thread of `wait` waited for in `at`, by time; empty when it was moved and
  /// the record of that is missing.
  std::vector<Queue> queues(const wst_wait& wait, model::Interval at) const;

  /// Slices on `cpu` that touch `at`.
  std::span<const Slice> ran_on(std::uint32_t cpu, model::Interval at) const;

  /// What a wait for several files was for; null: not recorded.
  const wst_pollset* pollset(const wst_wait& wait) const;

  /// What the timeline of the slab before this one needs to know of this one. The slabs' `later`
  /// must be the same ones as of this timeline.
  Later take_later() { return std::move(next_); }

  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

 private:
  void add_threads(const Slab& slab, const std::unordered_set<model::Tid>* only);
  void add_slices(const Slab& slab);
  void add_moves(const Slab& slab);
  void add_pollsets(const Slab& slab);

  std::unordered_map<model::Tid, std::vector<Piece>> threads_;
  std::vector<const wst_migrate*> moves_;  // by thread and time
  std::deque<wst_wait> summed_;            // what the pieces of sums refer to
  std::deque<Mix> mixes_;
  std::unordered_map<std::uint32_t, std::vector<Slice>> slices_;
  std::vector<const wst_pollset*> pollsets_;  // by thread and wait
  Later next_;
};

}  // namespace whystall::timeline
