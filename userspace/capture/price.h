// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace whystall::capture {

/// A child process that does what is to be priced: two threads on one CPU that hand a byte to and
/// fro through pipes, and calls of one function. It reports CPU time, so that what else runs on the
/// host counts little. Ends with this object.
class PricedLoad {
 public:
  /// Error: cannot trace, when no process can be made.
  static Result<PricedLoad> start();

  /// Nanoseconds of CPU time of one wait: half a round trip. The best of several tries. Negative
  /// when the child does not answer.
  double wait_ns();
  /// Of one call of the function that call_site() names.
  double call_ns();

  pid_t pid() const { return pid_; }

  PricedLoad(PricedLoad&& other) noexcept;
  PricedLoad& operator=(PricedLoad&&) = delete;
  ~PricedLoad();

 private:
  PricedLoad(pid_t pid, Fd ask, Fd answer);
  double measure(char what);

  pid_t pid_;
  Fd ask_, answer_;
};

/// Where the priced function lies in this program's file, and which file that is.
struct CallSite {
  std::string path;
  std::uint64_t probe_offset;
};
Result<CallSite> call_site();

}  // namespace whystall::capture
