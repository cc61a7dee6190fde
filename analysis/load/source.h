// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <unordered_set>

#include "base/result.h"
#include "model/recording.h"

namespace whystall::load {

/// A recording as the analysis reads it: once as a whole, without what threads and CPUs did; then
/// that in parts ("slabs") of time, each as often as it is asked for.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  /// What describes the recording, its driver calls, losses, samples and ends, and, where the
  /// states are not among it, what it says of them.
  virtual const model::Recording& whole() const = 0;

  /// Where each slab begins, rising; it ends where the next one begins, and the last one never.
  /// The first one begins before all records.
  virtual std::span<const model::TimeNs> slabs() const = 0;

  /// Of the whole recording: waits and sums of the threads that call the driver, waits of threads
  /// that were born, moves. Null: they were not kept, so they must be asked for slab by slab. Once.
  virtual std::unique_ptr<const model::Recording> take_callers() { return nullptr; }

  /// Waits, sums, slices, moves and sets of polled files whose h.ts lies in the slab, or up to
  /// `before_ns` before it, in any order. With `only`, waits and sums need be those of these
  /// threads alone, and slices and sets need not be there. Valid until the next call. Error:
  /// unreadable.
  virtual Result<const model::Recording*> states(std::size_t slab, model::DurationNs before_ns,
                                                 const std::unordered_set<model::Tid>* only) = 0;
};

}  // namespace whystall::load
