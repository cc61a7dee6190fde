// SPDX-License-Identifier: Apache-2.0
#include "utilization.h"

#include <algorithm>

namespace gpusim {

void Utilization::add(int64_t start_ns, int64_t end_ns) {
  if (!runs_.empty() && runs_.back().end_ns == start_ns) {
    runs_.back().end_ns = end_ns;
  } else if (start_ns < end_ns) {
    runs_.push_back({start_ns, end_ns});
  }
}

uint32_t Utilization::take(int64_t from_ns, int64_t to_ns) {
  std::sort(runs_.begin(), runs_.end(),
            [](const Reservation& a, const Reservation& b) { return a.start_ns < b.start_ns; });
  int64_t busy = 0;
  int64_t done = from_ns;
  for (const Reservation& run : runs_) {
    const int64_t start = std::max(run.start_ns, done);
    const int64_t end = std::min(run.end_ns, to_ns);
    if (start >= end) continue;
    busy += end - start;
    done = end;
  }
  std::erase_if(runs_, [&](const Reservation& run) { return run.end_ns <= to_ns; });
  if (to_ns <= from_ns) return 0;
  return static_cast<uint32_t>((busy * 100 + (to_ns - from_ns) / 2) / (to_ns - from_ns));
}

}  // namespace gpusim
