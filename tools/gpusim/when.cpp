// SPDX-License-Identifier: Apache-2.0
#include "when.h"

#include <algorithm>

namespace gpusim {

void When::join(int64_t other_ns) {
  ns = std::max(ns, other_ns);
}

void When::join(const When& other) {
  join(other.ns);
  for (const auto& moment : other.open) {
    if (std::find(open.begin(), open.end(), moment) == open.end()) open.push_back(moment);
  }
}

bool When::settle() {
  std::erase_if(open, [&](const auto& moment) {
    const int64_t known = moment->ns.load(std::memory_order_acquire);
    if (known == kUnknown) return false;
    join(known);
    return true;
  });
  return open.empty();
}

}  // namespace gpusim
