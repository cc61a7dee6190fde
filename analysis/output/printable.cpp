// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "output/output.h"

namespace whystall::output {

namespace {

/// Length of the UTF-8 sequence at the start of `text`, 0 when it is not one (overlong, surrogate,
/// cut).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  std::size_t length = 0;
  char32_t code = 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
    code = first & 0x1f;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    code = first & 0x0f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    code = first & 0x07;
  } else
    return 0;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; i++) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  if (length == 3 && (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))) return 0;
  if (length == 4 && (code < 0x10000 || code > 0x10ffff)) return 0;
  // C1 controls move cursors too.
  if (code >= 0x80 && code < 0xa0) return 0;
  return length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t n = sequence_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (n == 0)
      out += "\xEF\xBF\xBD";
    else if (n == 1 && (first < 0x20 || first == 0x7f))
      out += ' ';
    else
      out += text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace whystall::output
