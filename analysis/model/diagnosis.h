// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/recording.h"
#include "model/suspect.h"

namespace whystall::model {

/// Starved time that began with the return of one kind of call: had the program not waited there,
/// the work that came late could have been given to the device before. A second view of the same
/// time, beside its causes.
struct Exposure {
  std::string call;  // "cuStreamSynchronize"
  DurationNs ns = 0;
  std::uint64_t gaps = 0;
};

/// Calls of one kind that took long, by their own time: copies from or to pageable memory,
/// allocations. Not part of any sum.
struct LongCalls {
  std::string call;
  bool copies = false;  // otherwise they give or take memory
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;  // 0: not told
  DurationNs ns = 0;
  DurationNs longest_ns = 0;
};

/// One device, or what must be counted as one; see gaps::Device.
struct DeviceTime {
  int index = -1;  // in the host's list; -1: which one it is is not known, nor what follows
  std::string pci_bus_id, uuid, name;
  std::optional<double> nvml_busy;  // its own counters: the share in which a kernel of anyone ran
  std::vector<Pid> others;          // processes on it that were not watched

  std::vector<TargetProcess> processes;
  DurationNs starved_ns = 0, had_work_ns = 0, not_known_ns = 0;
};

/// The answer. Every output prints this and computes nothing of its own but rounding. All sums are
/// exact: starved + micro_gaps + had_work + not_known = observed; the findings sum to
/// starved + micro_gaps, those of no demand to no_demand, and the rest of them to stalled.
struct Diagnosis {
  Meta meta;
  LoadStats load;
  DurationNs window_ns = 0;
  std::uint64_t contexts = 1;   // devices, or processes that each count as if they had one
  std::uint64_t processes = 0;  // that called the driver
  std::vector<DeviceTime> devices;
  DurationNs starved_ns = 0;
  DurationNs starved_proven_ns = 0;  // of it: begun by a proof that covers all
  DurationNs no_demand_ns = 0;       // of it: waiting for somebody to ask for work
  DurationNs micro_gap_ns = 0;
  DurationNs had_work_ns = 0;
  DurationNs not_known_ns = 0;
  DurationNs possibly_starved_ns = 0;  // of what is not known: a synchronise may have returned late
  DurationNs silent_ns = 0;            // of what is not known: nothing was submitted
  std::uint64_t gaps = 0;
  std::uint64_t micro_gaps = 0;
  std::uint64_t submits = 0;
  std::uint64_t syncs = 0;
  std::uint64_t queries = 0;
  std::uint64_t lost_records = 0;
  std::uint64_t storage_misses = 0;  // scheduler events of tasks that the tracer did not know yet
  DurationNs conservation_error_ns = 0;
  std::vector<Finding> findings;
  /// Of the stalled time: waited for a delivery of a thread that works ahead, and so charged to
  /// what that thread did before (the lineage view).
  DurationNs lineage_ns = 0;
  /// The same time by what was waited for, where that differs: where lineage_ns is above 0.
  std::vector<Finding> path_findings;
  std::vector<Finding> silence_findings;  // sum to silent_ns
  std::vector<Exposure> exposures;        // most time first
  std::vector<LongCalls> long_calls;      // most time first
  std::vector<LockTime> through_locks;    // most time first
  std::vector<Suspect> suspects;          // the usual ones, always the same

  DurationNs observed_ns() const {
    DurationNs sum = 0;  // a hostile recording may name any number of processes
    const bool overflow = __builtin_mul_overflow(window_ns, contexts, &sum);
    return overflow ? std::numeric_limits<DurationNs>::max() : sum;
  }
  /// For how long of the window a source was there before it was given up.
  DurationNs watched_ns(const Shed& shed) const {
    return std::clamp<DurationNs>(shed.at_ns - meta.start_ns, 0, window_ns);
  }
  /// Idle time that somebody waited for: without what no request was there for.
  DurationNs stalled_ns() const { return starved_ns + micro_gap_ns - no_demand_ns; }
  DurationNs explained_ns() const {
    DurationNs sum = 0;
    for (const Finding& f : findings) {
      if (f.cause != Cause::kUnknown && f.cause != Cause::kWaitIdle) sum += f.ns;
    }
    return sum;
  }
  /// What of the time the host can be blamed for at most: what is proved, and what is not known.
  DurationNs host_at_most_ns() const { return stalled_ns() + not_known_ns; }
  /// Whether that is little, a tenth, of what was observed.
  bool host_cleared() const {
    return submits + syncs + queries > 0 && host_at_most_ns() <= observed_ns() / 10;
  }
  /// The findings that have a rank, which is their place here, from 1: not what nobody asked for,
  /// nor what is unknown.
  std::vector<const Finding*> ranked() const {
    std::vector<const Finding*> all;
    for (const Finding& f : findings) {
      if (f.cause != Cause::kWaitIdle && f.cause != Cause::kUnknown) all.push_back(&f);
    }
    return all;
  }
  /// The one device, where there is one and it is known; else null.
  const DeviceTime* the_device() const {
    return devices.size() == 1 && devices.front().index >= 0 ? &devices.front() : nullptr;
  }
  /// How much more the first finding has than the second. What is not known, if it is less, cannot
  /// change which is first.
  DurationNs lead_ns() const {
    DurationNs first = 0, second = 0;
    for (const Finding& f : findings) {
      if (f.cause == Cause::kWaitIdle || f.cause == Cause::kUnknown) continue;
      if (f.ns > first) {
        second = first;
        first = f.ns;
      } else if (f.ns > second) {
        second = f.ns;
      }
    }
    return first - second;
  }
};

}  // namespace whystall::model
