// SPDX-License-Identifier: Apache-2.0
#include "fixture_line.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace whystall::golden {

namespace {

/// Reads a word from the start of `text`; a quote keeps blanks and "=" as they are.
std::string take_word(std::string_view& text, bool& quoted) {
  std::string word;
  bool inside = false;
  quoted = false;
  while (!text.empty() && (inside || (text.front() != ' ' && text.front() != '\t'))) {
    if (text.front() == '"') {
      inside = !inside;
      quoted |= word.empty() && inside;
      text.remove_prefix(1);
    } else if (text.starts_with("\\x") && text.size() >= 4) {
      word += static_cast<char>(std::stoi(std::string(text.substr(2, 2)), nullptr, 16));
      text.remove_prefix(4);
    } else {
      word += text.front();
      text.remove_prefix(1);
    }
  }
  if (inside) throw FixtureError("a quote is not closed");
  return word;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
    text.replace(at, what.size(), by);
}

}  // namespace

FixtureLine::FixtureLine(std::string_view text) {
  while (true) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    if (text.empty() || text.front() == '#') return;
    if (words_.size() == 1 && words_.front() == "meta") {  // JSON, as it stands
      words_.emplace_back(text);
      return;
    }
    bool quoted = false;
    const std::string word = take_word(text, quoted);
    const std::size_t equals = word.find('=');
    if (!quoted && equals != std::string::npos)
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    else
      words_.push_back(word);
  }
}

const std::string& FixtureLine::word(std::size_t place) const {
  if (place + 1 >= words_.size()) throw FixtureError("'" + kind() + "' needs more words");
  return words_[place + 1];
}

std::optional<std::string> FixtureLine::value(const std::string& key) const {
  used_.insert(key);
  const auto it = values_.find(key);
  return it == values_.end() ? std::nullopt : std::optional(it->second);
}

std::uint64_t FixtureLine::number_or(const std::string& key, std::uint64_t otherwise) const {
  const auto text = value(key);
  return text ? to_number(*text) : otherwise;
}

std::int64_t FixtureLine::time_or(const std::string& key, std::int64_t otherwise) const {
  const auto text = value(key);
  return text ? to_time(*text) : otherwise;
}

bool FixtureLine::flag(const std::string& name) const {
  return std::find(words_.begin() + 1, words_.end(), name) != words_.end();
}

void FixtureLine::expect_all_used() const {
  for (const auto& [key, value] : values_) {
    if (!used_.contains(key)) throw FixtureError("'" + kind() + "' has no '" + key + "='");
  }
}

std::uint64_t FixtureLine::to_number(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 0);
  if (text.empty() || *end) throw FixtureError("'" + text + "' is not a number");
  return number;
}

std::int64_t FixtureLine::to_time(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const double factor = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 1;
  if (end == text.c_str() || (factor == 1 && unit != "ns" && text != "0"))
    throw FixtureError("'" + text + "' is not a time");
  return static_cast<std::int64_t>(number * factor + (number < 0 ? -0.5 : 0.5));
}

std::vector<ShiftedLine> expand(const std::string& fixture) {
  std::vector<ShiftedLine> all, round;
  std::uint64_t rounds = 0;
  std::int64_t step = 0;
  std::istringstream in(fixture);
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    number++;
    const FixtureLine line(text);
    if (line.empty()) continue;
    if (line.kind() == "repeat") {
      rounds = line.number(0);
      step = line.time(1);
      continue;
    }
    if (line.kind() != "end") {
      (rounds ? round : all).push_back({number, 0, text});
      continue;
    }
    for (std::uint64_t i = 0; i < rounds; i++) {
      for (ShiftedLine one : round) {
        one.shift = static_cast<std::int64_t>(i) * step;
        replace_all(one.text, "$i", std::to_string(i));
        all.push_back(one);
      }
    }
    round.clear();
    rounds = 0;
  }
  if (rounds) throw FixtureError("a 'repeat' has no 'end'");
  return all;
}

}  // namespace whystall::golden
