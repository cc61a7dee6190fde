// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "capture/kernel.h"

namespace whystall::capture {

struct SessionOptions {
  std::vector<pid_t> pids;
  std::optional<DurationNs> duration;  // none: until a signal or the target's end
  std::string output;                  // the recording's path
};

/// Records the targets into `options.output` until the time is over, `stop` becomes true or all
/// targets have ended. `progress(seconds since the start)` is called about once a second. Errors:
/// cannot trace, target gone, incomplete.
///
/// Gives back the kernel side with only what detaches slowly still attached: whoever prints the
/// report first lets it go afterwards.
Result<Kernel> record_session(const SessionOptions& options, const std::atomic<bool>& stop,
                              const std::function<void(double)>& progress);

}  // namespace whystall::capture
