// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <algorithm>

namespace gpusim {

int64_t Timeline::earliest(int64_t ready_ns, int64_t duration_ns) const {
  int64_t start = std::max(ready_ns, floor_ns);
  for (uint32_t i = 0; i < count; ++i) {
    if (start + duration_ns <= busy[i].start_ns) return start;
    start = std::max(start, busy[i].end_ns);
  }
  return start;
}

void Timeline::forget_before(int64_t now_ns) {
  uint32_t old = 0;
  while (old < count && busy[old].end_ns <= now_ns) ++old;
  if (old == 0) return;
  floor_ns = std::max(floor_ns, busy[old - 1].end_ns);
  std::copy(busy + old, busy + count, busy);
  count -= old;
}

void Timeline::reserve(int64_t start_ns, int64_t end_ns, int64_t now_ns) {
  forget_before(now_ns);
  if (end_ns <= start_ns) return;
  uint32_t at = count;
  while (at > 0 && busy[at - 1].start_ns >= end_ns) --at;
  const bool joins_left = at > 0 && busy[at - 1].end_ns == start_ns;
  const bool joins_right = at < count && busy[at].start_ns == end_ns;
  if (joins_left && joins_right) {
    busy[at - 1].end_ns = busy[at].end_ns;
    std::copy(busy + at + 1, busy + count, busy + at);
    --count;
  } else if (joins_left) {
    busy[at - 1].end_ns = end_ns;
  } else if (joins_right) {
    busy[at].start_ns = start_ns;
  } else if (count < kCapacity) {
    std::copy_backward(busy + at, busy + count, busy + count + 1);
    busy[at] = {start_ns, end_ns};
    ++count;
  } else if (at > 0) {
    // Full: give up the gap beside the new one. Later work may start later than it could, but
    // never overlaps.
    busy[at - 1].end_ns = end_ns;
  } else {
    busy[0].start_ns = start_ns;
  }
}

}  // namespace gpusim
