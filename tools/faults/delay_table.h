// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace faults {

// Requests to a file system that can be made to last.
enum class Operation { kRead, kWrite, kFsync, kOpen, kStat };
constexpr std::array<std::string_view, 5> kOperationNames = {"read", "write", "fsync", "open",
                                                             "stat"};

constexpr std::string_view operation_name(Operation operation) {
  return kOperationNames[static_cast<std::size_t>(operation)];
}
std::optional<Operation> operation_of(std::string_view name);

// Delays of an operation by path prefix. The longest prefix that matches wins; the empty prefix is
// the default. Paths are relative to the mount; slashes at a prefix's ends make no difference. Safe
// to read while another thread sets.
class DelayTable {
 public:
  void set(Operation operation, std::string_view prefix, std::int64_t delay_ns);
  std::int64_t find(Operation operation, std::string_view path) const;

  // One command per line, "OPERATION DURATION [PREFIX]". Returns false at the first line it does
  // not know; the lines before it stay in force.
  bool apply(std::string_view commands);

  // The table as commands that would set it again.
  std::string text() const;

 private:
  struct Entry {
    Operation operation;
    std::string prefix;
    std::int64_t delay_ns;
  };
  mutable std::shared_mutex mutex_;
  std::vector<Entry> entries_;  // of each operation, longest prefix first
};

}  // namespace faults
