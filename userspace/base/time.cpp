// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <charconv>
#include <cstdio>
#include <ctime>

namespace whystall {

static TimeNs read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<TimeNs>(t.tv_sec) * kSecond + t.tv_nsec;
}

TimeNs monotonic_now() {
  return read_clock(CLOCK_MONOTONIC);
}
TimeNs realtime_now() {
  return read_clock(CLOCK_REALTIME);
}

Result<DurationNs> parse_duration(std::string_view text) {
  const Error bad{ErrorCode::kUsage,
                  "'" + std::string(text) + "' is not a duration (examples: 500ms, 10s, 2m)"};
  double number = 0;
  const char* end = text.data() + text.size();
  auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc() || !(number > 0)) return bad;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  double scale = 0;
  if (unit == "ns") scale = 1;
  if (unit == "us") scale = 1e3;
  if (unit == "ms") scale = 1e6;
  if (unit == "s" || unit.empty()) scale = 1e9;
  if (unit == "m" || unit == "min") scale = 60e9;
  if (unit == "h") scale = 3600e9;
  if (scale == 0 || number * scale > 1e18 || number * scale < 1) return bad;
  return static_cast<DurationNs>(number * scale);
}

std::string format_wall_time(TimeNs realtime_ns) {
  const TimeNs millis = (realtime_ns % kSecond + kSecond) % kSecond / kMillisecond;
  // Rounded down, also before 1970.
  const std::time_t seconds = realtime_ns / kSecond - (realtime_ns % kSecond < 0);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + n, sizeof text - n, ".%03dZ", static_cast<int>(millis));
  return text;
}

}  // namespace whystall
