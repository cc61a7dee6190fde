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

std::string wrap_text(std::string_view text, int columns, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string wrapped, line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string word = cut(text.substr(0, end), columns - indent);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && width(line) + 1 + width(word) > columns) {
      wrapped += line + "\n";
      line = margin + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return line.empty() ? wrapped : wrapped + line + "\n";
}

std::string wrap_list(const std::string& label, const std::vector<std::string>& entries,
                      int columns, int lines) {
  if (entries.empty() || lines == 0) return "";
  const std::string margin(label.size(), ' ');
  constexpr int kMoreColumns = 13;  // " and 12 more."
  std::string text, line = label;
  for (std::size_t i = 0; i < entries.size(); i++) {
    const bool first = width(line) == width(label), last = i + 1 == entries.size();
    std::string entry = (first ? "" : " ") + entries[i] + (last ? "." : ",");
    const bool last_line = lines == 1;
    int room = columns - width(line) - (last_line && !last ? kMoreColumns : 0);
    if (width(entry) > room && !first) {
      if (last_line) {
        line += format(" and %zu more.", entries.size() - i);
        break;
      }
      text += line + "\n";
      line = margin;
      lines--;
      room = columns - width(line) - (lines == 1 && !last ? kMoreColumns : 0);
      entry = entries[i] + (last ? "." : ",");
    }
    line += cut(entry, room);
  }
  return text + line + "\n";
}

}  // namespace whystall::output
