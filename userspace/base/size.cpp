// SPDX-License-Identifier: Apache-2.0
#include "base/size.h"

#include <charconv>

namespace whystall {

Result<std::uint64_t> parse_size(std::string_view text) {
  const Error bad{ErrorCode::kUsage,
                  "'" + std::string(text) + "' is not a size (examples: 512KiB, 64MiB, 2G)"};
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, number);
  if (status != std::errc() || !(number > 0)) return bad;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  double scale = 0;
  if (unit.empty() || unit == "B") scale = 1;
  if (unit == "K" || unit == "KiB") scale = 1u << 10;
  if (unit == "M" || unit == "MiB") scale = 1u << 20;
  if (unit == "G" || unit == "GiB") scale = 1u << 30;
  if (scale == 0 || number * scale > 1e18 || number * scale < 1) return bad;
  return static_cast<std::uint64_t>(number * scale);
}

}  // namespace whystall
