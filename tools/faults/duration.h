// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace faults {

// "5ms", "250us", "1.5s", "800ns" in nanoseconds. A bare "0" is allowed, any other number needs its
// unit.
std::optional<std::int64_t> parse_duration(std::string_view text);

inline std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

inline std::int64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

// Sleeps to an absolute time, so that interruptions and late starts do not add up.
inline void sleep_until(std::int64_t deadline_ns) {
  const timespec t{deadline_ns / 1'000'000'000, deadline_ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {
  }
}

}  // namespace faults
