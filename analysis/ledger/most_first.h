// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace whystall::ledger {

/// The values, those with the most time first.
template <typename Value>
std::vector<Value> most_time_first(const std::map<std::string, Value>& by_name) {
  std::vector<Value> all;
  for (const auto& [name, value] : by_name) all.push_back(value);
  std::stable_sort(all.begin(), all.end(),
                   [](const Value& a, const Value& b) { return a.ns > b.ns; });
  return all;
}

}  // namespace whystall::ledger
