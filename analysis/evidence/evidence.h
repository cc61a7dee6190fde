// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "evidence/history.h"
#include "model/leaf.h"
#include "model/recording.h"

namespace whystall::evidence {

/// What the driver's calls alone prove of a context at an instant.
enum class State : std::uint8_t {
  kStarved,   // everything submitted is proved done
  kHadWork,   // something submitted is proved not done
  kNotKnown,  // neither is proved
};

constexpr std::size_t kNoCall = std::numeric_limits<std::size_t>::max();

struct Stretch {
  model::Interval at;
  State state = State::kNotKnown;
  // Of a starved one:
  model::Confidence confidence = model::Confidence::kProven;
  std::size_t proof = kNoCall;  // the call in Recording::api whose return began it
  model::Tid tid = 0;           // whose submit ended it; of an open one, the last submitter
  bool open = false;            // no submit ended it: it lasts until the window's end
};

/// A time in which no thread of the process submitted anything. It says nothing of the device.
struct Silence {
  model::Interval at;
  model::Tid tid = 0;  // whose submit ended it; of an open one, the last submitter
  bool open = false;
};

/// The contexts of one process that cannot be told apart by device, taken together.
struct Context {
  model::Pid pid = 0;
  std::int64_t device = -1;                       // the process's own number for it; -1: not known
  std::vector<Stretch> stretches;                 // cover the window; by time
  std::vector<model::Interval> possibly_starved;  // of what is not known; by time, disjoint
  std::vector<Silence> silences;                  // longer than kSilenceNs; by time
};

/// A pause between submits that is longer than back-to-back launches make.
constexpr model::DurationNs kSilenceNs = 20'000;

struct Evidence {
  model::Interval window;         // that of the recording
  std::vector<Context> contexts;  // by process and device
  std::uint64_t submits = 0, syncs = 0, queries = 0;
  std::uint64_t processes = 0;  // that called the driver
};

/// Every nanosecond of every context in one of three states, by the rules of submits, event
/// records, stream dependencies and what returned: see work.h. Nothing is claimed where driver
/// calls were lost, or were not watched.
///
/// Proven is a starved stretch whose proof covers all that can have been pending. It is only
/// likely: while no context-wide proof has excluded work from before the attach, or from calls that
/// were lost; where a call of another thread, seen or not, is believed to have had its effect
/// because of the time since; where it is only supposed that the process has one context; and where
/// not every driver call could be probed. With no context's handle told, one is taken for granted.
/// Of the recording, its driver calls, samples and losses are read, and what describes it.
Evidence find_evidence(const model::Recording& recording, const History& history);

}  // namespace whystall::evidence
