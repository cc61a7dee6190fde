// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "model/recording.h"

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
/// blocked piece whose record is the last one, the one with the wake-up that counts. In a mixed
/// piece the order of the states is not known, only how much there was of each in `mix`, of which
/// the piece is a part.
struct Piece {
  model::Interval at;
  State state;
  const wst_wait* wait;
  bool merged = false;
  bool faulted =
      false;  // a major page fault of the thread ended between this wait and its next one
  const Mix* mix = nullptr;
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

/// All threads' pieces, sorted and without overlap; what is not covered was not recorded. Refers to
/// the recording, which must outlive it.
class Timeline {
 public:
  explicit Timeline(const model::Recording& recording);

  std::span<const Piece> thread(model::Tid tid) const;

  /// The piece that holds the instant just before `t`; null when none is recorded there.
  const Piece* before(model::Tid tid, model::TimeNs t) const;
  /// The piece that holds the instant `t`; null when none is recorded there.
  const Piece* at(model::Tid tid, model::TimeNs t) const;
  /// The end of the last piece that ends at or before `t`; 0 when there is none.
  model::TimeNs covered_until(model::Tid tid, model::TimeNs t) const;

  /// The CPUs that the thread of `wait` waited for in `at`, by time; empty when it was moved and
  /// the record of that is missing.
  std::vector<Queue> queues(const wst_wait& wait, model::Interval at) const;

  /// Slices on `cpu` that touch `at`.
  std::span<const Slice> ran_on(std::uint32_t cpu, model::Interval at) const;

  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

 private:
  std::map<model::Tid, std::vector<Piece>> threads_;
  std::map<model::Tid, std::vector<const wst_migrate*>> moves_;
  std::deque<wst_wait> summed_;  // what the pieces of sums refer to
  std::deque<Mix> mixes_;
  std::map<std::uint32_t, std::vector<Slice>> slices_;
};

}  // namespace whystall::timeline
