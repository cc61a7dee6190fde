// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "evidence/history.h"
#include "model/recording.h"

namespace whystall::evidence {

/// More than a call runs before it has looked at the device, or has had its effect.
constexpr model::DurationNs kLookNs = 200'000;
/// More than an interrupt, a switch to the thread and its way out of the call take: with cold
/// caches and a probe at the end they were seen to take 171 us.
constexpr model::DurationNs kReturnNs = 200'000;
/// The kernel counts stolen time at its ticks: what was taken since the last one is not in a call's
/// stolen_ns. Of a kernel with 250 ticks a second, as Debian's are.
constexpr model::DurationNs kUncountedNs = 4'000'000;

/// What a synchronise that has returned (or has not, yet) tells beside its result.
struct Waited {
  /// Until when the device certainly was not done; 0: that it waited at all is not certain.
  model::TimeNs pending_until = 0;
  /// The thread was ready to return and had no CPU: the device may have been idle already.
  model::Interval late;
};

/// From the states of the thread that waited. One that spun up to its return saw the end at once;
/// one that was taken off the CPU, or had to be woken, or whose CPU the hypervisor took, saw it
/// late. Between the end and the return lies `kReturnNs` at most, and where the hypervisor is known
/// to take CPUs (`stealing`), what no tick has counted yet. What it did before it first looked, and
/// a wait for a lock of the driver, tell nothing.
Waited how_it_waited(const wst_api& call, const History& history, bool stealing);

/// Whether the hypervisor is known to take CPUs, by what any call on the host tells.
bool hypervisor_steals(const std::vector<wst_api>& api);

/// When a call that was entered at `entry` and had returned by `end` had looked at the device: what
/// was entered later cannot be what it found.
model::TimeNs looked_by(const wst_api& call, model::TimeNs entry, model::TimeNs end,
                        const History& history);

/// Whether the thread had so much time in [from, until), but for that in which it waited for a CPU.
bool has_had(const History& history, model::Tid tid, model::TimeNs from, model::TimeNs until,
             model::DurationNs time);

}  // namespace whystall::evidence
