// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace whystall::golden {

struct FixtureError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One line of a fixture: words, then "key=value", then flags. A word in double quotes may hold
/// blanks, and \xHH anywhere stands for a byte.
class FixtureLine {
 public:
  explicit FixtureLine(std::string_view text);

  bool empty() const { return words_.empty(); }
  const std::string& kind() const { return words_.front(); }
  /// The word at this place after the kind. Throws FixtureError when there is none.
  const std::string& word(std::size_t place) const;
  std::uint64_t number(std::size_t place) const { return to_number(word(place)); }
  /// Nanoseconds: "12ms", "1.5s", "20us", "7ns".
  std::int64_t time(std::size_t place) const { return to_time(word(place)); }

  std::optional<std::string> value(const std::string& key) const;
  std::uint64_t number_or(const std::string& key, std::uint64_t otherwise) const;
  std::int64_t time_or(const std::string& key, std::int64_t otherwise) const;
  /// Whether this word stands anywhere after the kind.
  bool flag(const std::string& name) const;

  /// Throws FixtureError on a "key=value" that nothing has asked for: a fixture with a slip tests
  /// something else than it says.
  void expect_all_used() const;

  static std::uint64_t to_number(const std::string& text);
  static std::int64_t to_time(const std::string& text);

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::string> values_;
  mutable std::set<std::string> used_;
};

/// The lines of a fixture without comments, "repeat N STEP … end" written out: "$i" becomes the
/// number of the round, from 0, and the round's times are later by `shift`. Rounds do not nest.
struct ShiftedLine {
  int number;  // in the file
  std::int64_t shift;
  std::string text;
};
std::vector<ShiftedLine> expand(const std::string& fixture);

}  // namespace whystall::golden
