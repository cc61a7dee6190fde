// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace whystall::timeline
