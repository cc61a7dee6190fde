// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/recording.h"
#include "timeline/timeline.h"

namespace whystall::evidence {

/// What a synchronise that has returned (or has not, yet) tells beside its result.
struct Waited {
  /// Until when the device certainly was not done; 0: that it waited at all is not certain.
  model::TimeNs pending_until = 0;
  /// The thread was ready to return and had no CPU: the device may have been idle already.
  model::Interval late;
};

/// From the states of the thread that waited. One that spun up to its return saw the end at once;
/// one that was taken off the CPU, or had to be woken, or whose CPU the hypervisor took, saw it
/// late. Between the end and the return lies `kReturnNs` at most.
Waited how_it_waited(const wst_api& call, const timeline::Timeline& timeline);

/// More than an interrupt and the last round of a spinning wait take.
constexpr model::DurationNs kReturnNs = 30'000;

}  // namespace whystall::evidence
