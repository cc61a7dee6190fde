// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace whystall::output {

/// Columns that a text takes; names are printable() already, and one code point is taken as one
/// column.
int width(std::string_view text);

/// Cuts out of the middle, so that both ends of a path stay: the start says where, the end says
/// what.
std::string fit(std::string_view text, int columns);

/// Cuts at the end.
std::string cut(std::string_view text, int columns);

std::string pad(std::string_view text, int columns);

/// Nanoseconds in the unit that reads best: "13.4 s", "4.90 s", "38.0 ms", "120 µs".
std::string seconds(std::int64_t ns);
std::string percent(std::int64_t part, std::int64_t whole);

/// Whole percents that sum to 100 (all 0 if there is nothing): the largest remainders are rounded
/// up, earlier parts first, so that a larger part never shows a smaller number.
std::vector<int> whole_percents(const std::vector<std::int64_t>& parts);

/// Breaks a chain "a ← b ← c" between hops into at most `lines`; the last may be longer than
/// `columns`.
std::vector<std::string> wrap_chain(const std::string& chain, int columns, int lines);

/// Breaks a text between words into lines of at most `columns`, each but the first indented.
std::string wrap_text(std::string_view text, int columns, int indent);

/// "Label: a, b, c" in at most `lines` lines; what has no room is counted. Empty if there is none.
std::string wrap_list(const std::string& label, const std::vector<std::string>& entries,
                      int columns, int lines);

}  // namespace whystall::output
