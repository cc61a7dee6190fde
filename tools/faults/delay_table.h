// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace faults {

// Delays by path prefix. The longest prefix that matches wins; the empty prefix is the default.
// Paths are relative to the mount; slashes at a prefix's ends make no difference. Safe to read
// while another thread sets.
class DelayTable {
 public:
  void set(std::string_view prefix, std::int64_t delay_ns);
  std::int64_t find(std::string_view path) const;

  // One command per line, "read DURATION [PREFIX]". Returns false at the first line it does not
  // know; the lines before it stay in force.
  bool apply(std::string_view commands);

  // The table as commands that would set it again.
  std::string text() const;

 private:
  struct Entry {
    std::string prefix;
    std::int64_t delay_ns;
  };
  mutable std::shared_mutex mutex_;
  std::vector<Entry> entries_{{"", 0}};  // longest prefix first
};

}  // namespace faults
