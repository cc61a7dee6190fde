// SPDX-License-Identifier: Apache-2.0
#include "output/layout.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace whystall::output {

int width(std::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

static std::size_t bytes_of_columns(std::string_view text, int columns) {
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t next = i + 1;
    while (next < text.size() && (text[next] & 0xc0) == 0x80) next++;
    if (columns-- == 0) break;
    i = next;
  }
  return i;
}

std::string fit(std::string_view text, int columns) {
  if (width(text) <= columns) return std::string(text);
  if (columns < 8) return std::string(text.substr(0, bytes_of_columns(text, std::max(columns, 0))));
  const int tail = (columns - 1) * 2 / 3, head = columns - 1 - tail;
  return std::string(text.substr(0, bytes_of_columns(text, head))) + "…" +
         std::string(text.substr(bytes_of_columns(text, width(text) - tail)));
}

std::string cut(std::string_view text, int columns) {
  if (width(text) <= columns) return std::string(text);
  return std::string(text.substr(0, bytes_of_columns(text, std::max(columns - 1, 0)))) + "…";
}

std::string pad(std::string_view text, int columns) {
  return std::string(text) +
         std::string(static_cast<std::size_t>(std::max(0, columns - width(text))), ' ');
}

std::string seconds(std::int64_t ns) {
  const double s = static_cast<double>(ns) / 1e9;
  if (ns >= 100'000'000'000) return format("%.0f s", s);
  if (ns >= 10'000'000'000) return format("%.1f s", s);
  if (ns >= 100'000'000) return format("%.2f s", s);
  if (ns >= 1'000'000) return format("%.1f ms", s * 1e3);
  return format("%.0f µs", s * 1e6);
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return format("%.1f %%",
                whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
}

std::vector<int> whole_percents(const std::vector<std::int64_t>& parts) {
  const std::int64_t sum = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  std::vector<int> percents(parts.size(), 0);
  if (sum == 0) return percents;
  std::vector<std::pair<double, std::size_t>> remainders;  // negated: the largest sorts first
  int given = 0;
  for (std::size_t i = 0; i < parts.size(); i++) {
    const double exact = 100.0 * static_cast<double>(parts[i]) / static_cast<double>(sum);
    percents[i] = static_cast<int>(exact);
    given += percents[i];
    remainders.emplace_back(percents[i] - exact, i);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; given < 100 && i < remainders.size(); i++, given++)
    percents[remainders[i].second]++;
  return percents;
}

std::vector<std::string> wrap_chain(const std::string& chain, int columns, int lines) {
  constexpr std::string_view kArrow = " ← ";
  std::vector<std::string> wrapped;
  std::string rest = chain;
  while (!rest.empty()) {
    std::size_t at = std::string::npos;
    const bool last = static_cast<int>(wrapped.size()) + 1 >= lines || width(rest) <= columns;
    for (std::size_t i = last ? at : rest.find(kArrow, 1); i != std::string::npos;
         i = rest.find(kArrow, i + 1)) {
      if (width(std::string_view(rest).substr(0, i)) > columns) break;
      at = i;
    }
    wrapped.push_back(rest.substr(0, at));
    rest = at == std::string::npos ? "" : " " + rest.substr(at);
  }
  return wrapped;
}

}  // namespace whystall::output
