// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "model/recording.h"

namespace whystall::timeline {

enum class State { kRunning, kRunnable, kBlocked };

/// A piece of a thread's life in one state. `wait` is the record that tells of it: for a run, the
/// stay off the CPU that followed. Logical waits (merged re-waits on the same object) are one
/// blocked piece whose record is the last one, the one with the wake-up that counts.
struct Piece {
  model::Interval at;
  State state;
  const wst_wait* wait;
  bool merged = false;
  bool faulted =
      false;  // a major page fault of the thread ended between this wait and its next one
};

/// Who ran on a CPU; slices of one CPU, by time.
struct Slice {
  model::Interval at;
  model::Tid tid;
  model::Pid pid;
  const wst_slice* record;
};

/// All threads' pieces, sorted and without overlap; what is not covered was not recorded. Refers to
/// the recording, which must outlive it.
class Timeline {
 public:
  explicit Timeline(const model::Recording& recording);

  std::span<const Piece> thread(model::Tid tid) const;

  /// The piece that holds the instant just before `t`; null when none is recorded there.
  const Piece* before(model::Tid tid, model::TimeNs t) const;
  /// The end of the last piece that ends at or before `t`; 0 when there is none.
  model::TimeNs covered_until(model::Tid tid, model::TimeNs t) const;

  /// Slices on `cpu` that touch `at`.
  std::span<const Slice> ran_on(std::uint32_t cpu, model::Interval at) const;

 private:
  std::map<model::Tid, std::vector<Piece>> threads_;
  std::map<std::uint32_t, std::vector<Slice>> slices_;
};

}  // namespace whystall::timeline
