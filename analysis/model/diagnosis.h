// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "model/leaf.h"
#include "model/recording.h"

namespace whystall::model {

/// One named thing of a finding, and the time charged to it.
struct FindingObject {
  std::string kind;  // file, lock, process, thread, reason
  std::string name;
  DurationNs ns = 0;
  Object id;
  std::string comm;  // lock: the holder's; process and thread: its own
};

struct Finding {
  Cause cause = Cause::kUnknown;
  DurationNs ns = 0;
  Confidence confidence = Confidence::kUnknown;  // of most of its time
  std::array<DurationNs, 4> by_confidence{};     // indexed by Confidence; sums to ns
  std::uint64_t gaps = 0;                        // gaps it has a share in
  std::uint64_t pieces = 0;                      // separate waits or runs
  std::string object;                            // one line for all its objects
  std::string path;                              // the chain of its longest piece
  std::vector<FindingObject> objects;            // most time first; their ns sum to ns
};

/// The answer. Every output prints this and computes nothing of its own but rounding. All sums are
/// exact: starved + micro_gaps + unproven = observed, and the findings sum to starved + micro_gaps.
struct Diagnosis {
  Meta meta;
  LoadStats load;
  DurationNs window_ns = 0;
  std::uint64_t contexts = 1;  // processes that used the device, each counted for itself
  DurationNs starved_ns = 0;
  DurationNs starved_proven_ns = 0;  // of it: begun by a context-wide proof
  DurationNs micro_gap_ns = 0;
  DurationNs unproven_ns = 0;  // had work, or not known
  std::uint64_t gaps = 0;
  std::uint64_t micro_gaps = 0;
  std::uint64_t submits = 0;
  std::uint64_t syncs = 0;
  std::uint64_t lost_records = 0;
  std::uint64_t storage_misses = 0;  // scheduler events of tasks that the tracer did not know yet
  DurationNs conservation_error_ns = 0;
  std::vector<Finding> findings;

  DurationNs observed_ns() const {
    DurationNs sum = 0;  // a hostile recording may name any number of processes
    const bool overflow = __builtin_mul_overflow(window_ns, contexts, &sum);
    return overflow ? std::numeric_limits<DurationNs>::max() : sum;
  }
  DurationNs stalled_ns() const { return starved_ns + micro_gap_ns; }
  DurationNs explained_ns() const {
    DurationNs sum = 0;
    for (const Finding& f : findings) {
      if (f.cause != Cause::kUnknown) sum += f.ns;
    }
    return sum;
  }
};

}  // namespace whystall::model
