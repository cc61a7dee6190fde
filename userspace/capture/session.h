// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "capture/kernel.h"
#include "capture/targets.h"

namespace whystall::capture {

struct SessionOptions {
  TargetSpec targets;
  std::optional<DurationNs> duration;  // none: until a signal or the targets' end
  std::string output;                  // the recording's path
  std::optional<std::uint64_t> max_size = {};
  /// Goes on when no target has loaded an accelerator's driver yet.
  bool wait_for_driver = false;
  /// What the kernel side may take, as a share of one CPU; none: it is measured all the same.
  std::optional<double> budget = {};
  /// Called once when everything is attached: a command that was held begins here.
  std::function<Status()> attached = [] { return Nothing{}; };
};

struct SessionResult {
  DurationNs recorded_ns;
  DurationNs dropped_ns;            // of them at the beginning: made way because of max_size
  std::optional<Error> incomplete;  // why the recording ends before the session did
  bool driver_seen;                 // some target had an accelerator's driver
  std::uint64_t records;            // that came
  std::uint64_t lost;               // that found no room in the ring
  /// With only what detaches slowly still attached: whoever prints the report first lets it go
  /// afterwards.
  Kernel kernel;
};

/// Records the targets into `options.output` until the time is over, `stop` becomes true or all
/// targets have ended. `progress(seconds since the start)` is called about once a second. Errors:
/// cannot trace, target gone, incomplete (when nothing at all could be written).
Result<SessionResult> record_session(const SessionOptions& options, const std::atomic<bool>& stop,
                                     const std::function<void(double)>& progress);

}  // namespace whystall::capture
