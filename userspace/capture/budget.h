// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "base/fd.h"
#include "base/time.h"
#include "capture/kernel.h"

namespace whystall::capture {

/// What the kernel side costs, as shares of one CPU: the time in its programs, which the kernel
/// counts, and that of the traps that lead to those on user code, which it does not.
struct Cost {
  std::array<double, kSources> share{};
  double calls_per_second = 0;  // of the driver, queries included
  double total() const;
  double of(Source source) const { return share[static_cast<std::size_t>(source)]; }
};

/// Measures now and then, for a short while only: counting costs every program on the host.
class CostMeter {
 public:
  /// To be called often. Gives a result each time that a measurement is over.
  std::optional<Cost> step(const Kernel& kernel, TimeNs now);
  /// Has the next measurement begin at once.
  void hurry() { next_ = 0; }

 private:
  Fd counting_;
  ProgramCosts before_{};
  TimeNs began_ = 0;
  TimeNs next_ = 0;  // the first measurement begins at once
};

}  // namespace whystall::capture
