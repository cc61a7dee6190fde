// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace whystall {

/// "512KiB", "64M", "1.5GiB": K, M and G are powers of 1024; a bare number is bytes. Error: usage.
Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace whystall
