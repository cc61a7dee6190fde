// SPDX-License-Identifier: Apache-2.0
#include "delay_table.h"

#include <algorithm>
#include <mutex>
#include <sstream>

#include "duration.h"

namespace faults {

namespace {

// The prefix "train" means that directory's files and not a sibling "train2".
bool matches(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return false;
  return prefix.empty() || path.size() == prefix.size() || path[prefix.size()] == '/';
}

}  // namespace

std::optional<Operation> operation_of(std::string_view name) {
  const auto found = std::find(kOperationNames.begin(), kOperationNames.end(), name);
  if (found == kOperationNames.end()) return std::nullopt;
  return static_cast<Operation>(found - kOperationNames.begin());
}

void DelayTable::set(Operation operation, std::string_view prefix, std::int64_t delay_ns) {
  while (prefix.starts_with('/')) prefix.remove_prefix(1);
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  const std::unique_lock lock(mutex_);
  const auto same = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.operation == operation && e.prefix == prefix;
  });
  if (same != entries_.end()) {
    same->delay_ns = delay_ns;
    return;
  }
  const auto shorter = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.prefix.size() < prefix.size();
  });
  entries_.insert(shorter, Entry{operation, std::string(prefix), delay_ns});
}

std::int64_t DelayTable::find(Operation operation, std::string_view path) const {
  while (path.starts_with('/')) path.remove_prefix(1);
  const std::shared_lock lock(mutex_);
  for (const Entry& e : entries_) {
    if (e.operation == operation && matches(path, e.prefix)) return e.delay_ns;
  }
  return 0;
}

bool DelayTable::apply(std::string_view commands) {
  std::istringstream lines{std::string(commands)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, delay, prefix, extra;
    words >> name >> delay >> prefix >> extra;
    if (name.empty()) continue;
    const auto operation = operation_of(name);
    const auto delay_ns = parse_duration(delay);
    if (!operation || !delay_ns || !extra.empty()) return false;
    set(*operation, prefix, *delay_ns);
  }
  return true;
}

std::string DelayTable::text() const {
  const std::shared_lock lock(mutex_);
  std::string out;
  for (const Entry& e : entries_) {
    out += std::string(operation_name(e.operation)) + " " + std::to_string(e.delay_ns) + "ns";
    if (!e.prefix.empty()) out += " " + e.prefix;
    out += "\n";
  }
  return out;
}

}  // namespace faults
