// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace whystall {

/// printf into a string of at most 255 bytes.
template <typename... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  std::array<char, 256> text;
  std::snprintf(text.data(), text.size(), pattern, arguments...);
  return text.data();
}

}  // namespace whystall
