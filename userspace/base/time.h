// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace whystall {

/// CLOCK_MONOTONIC nanoseconds, the one time domain of records and recordings.
using TimeNs = std::int64_t;
using DurationNs = std::int64_t;

constexpr DurationNs kMicrosecond = 1'000;
constexpr DurationNs kMillisecond = 1'000'000;
constexpr DurationNs kSecond = 1'000'000'000;

/// `by` (not negative) after `time`, or the last time that can be told.
constexpr TimeNs later(TimeNs time, DurationNs by) {
  TimeNs sum = 0;
  return __builtin_add_overflow(time, by, &sum) ? std::numeric_limits<TimeNs>::max() : sum;
}

TimeNs monotonic_now();
TimeNs realtime_now();

/// "250ms", "10s", "1.5m", "2h"; a bare number is seconds. Error: usage.
Result<DurationNs> parse_duration(std::string_view text);

/// Wall-clock time as RFC 3339 in UTC with milliseconds.
std::string format_wall_time(TimeNs realtime_ns);

}  // namespace whystall
