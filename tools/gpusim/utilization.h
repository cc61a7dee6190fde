// SPDX-License-Identifier: Apache-2.0
// The share of a past window in which a kernel ran, as monitoring interfaces report it.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline.h"

namespace gpusim {

class Utilization {
 public:
  void add(int64_t start_ns, int64_t end_ns);
  // Percent of [from, to), and forgets what ended by then.
  uint32_t take(int64_t from_ns, int64_t to_ns);

 private:
  std::vector<Reservation> runs_;
};

}  // namespace gpusim
