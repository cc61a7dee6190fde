// SPDX-License-Identifier: Apache-2.0
#include "duration.h"

#include <charconv>

namespace faults {

std::optional<std::int64_t> parse_duration(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || !(value >= 0)) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  double scale = 0;
  if (unit == "ns" || (unit.empty() && value == 0)) scale = 1;
  if (unit == "us") scale = 1e3;
  if (unit == "ms") scale = 1e6;
  if (unit == "s") scale = 1e9;
  if (scale == 0 || value * scale > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(value * scale + 0.5);
}

}  // namespace faults
