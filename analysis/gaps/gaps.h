// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "evidence/evidence.h"
#include "model/leaf.h"
#include "model/recording.h"

namespace whystall::gaps {

/// Gaps shorter than this are launch overhead: summed into gpu.launch and not walked.
constexpr model::DurationNs kMicroGapNs = 20'000;

/// A time in which the device was proved to have nothing to do; or, of a silence, in which nothing
/// was submitted and nothing is known.
struct Gap {
  model::Interval at;
  model::Pid pid = 0;
  model::Tid tid = 0;  // whose call ended it; of an open gap, the last submitter
  bool open = false;   // no call ended it: it lasts until the end of the window
  model::Confidence confidence = model::Confidence::kProven;
  std::size_t proof = evidence::kNoCall;  // in Recording::api: the call whose return began it
};

/// What is one device as far as is known.
struct Device {
  std::vector<model::Pid> pids;  // the processes that use it, of those that were watched
  int index = -1;                // in the recording's list of devices; -1: not known
  model::DurationNs starved_ns = 0, had_work_ns = 0, not_known_ns = 0;  // sum to the window
  model::DurationNs possibly_starved_ns = 0;                            // of what is not known
  std::vector<Gap> gaps;                                                // by time, disjoint
  std::vector<Gap> silences;  // of what is not known; by time, disjoint
};

/// Puts the contexts of one device together: it is starved when all are, and had work when one had.
/// Contexts are of one device when the recording says so; else each is counted for itself, as if it
/// had a device of its own.
std::vector<Device> find_gaps(const model::Recording& recording,
                              const evidence::Evidence& evidence);

}  // namespace whystall::gaps
