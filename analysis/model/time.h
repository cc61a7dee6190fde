// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace whystall::model {

/// CLOCK_MONOTONIC nanoseconds.
using TimeNs = std::int64_t;
using DurationNs = std::int64_t;
using Tid = std::uint32_t;
using Pid = std::uint32_t;

/// Half-open [lo, hi).
struct Interval {
  TimeNs lo = 0;
  TimeNs hi = 0;
  DurationNs length() const { return hi > lo ? hi - lo : 0; }
};

}  // namespace whystall::model
