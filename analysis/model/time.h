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

/// a * b / c, towards 0. Each of them fits a long double's mantissa; the product does not fit 64
/// bits.
inline DurationNs scaled(DurationNs a, DurationNs b, DurationNs c) {
  return static_cast<DurationNs>(static_cast<long double>(a) * static_cast<long double>(b) /
                                 static_cast<long double>(c));
}

}  // namespace whystall::model
