// SPDX-License-Identifier: Apache-2.0
#include "slices.h"

#include <algorithm>
#include <limits>

namespace gpusim {
namespace {

void append(Pieces& pieces, int64_t start_ns, int64_t end_ns) {
  if (pieces.count > 0 && pieces.at[pieces.count - 1].end_ns == start_ns) {
    pieces.at[pieces.count - 1].end_ns = end_ns;
  } else {
    pieces.at[pieces.count++] = {start_ns, end_ns};
  }
}

}  // namespace

void lay(const Timeline& engine, int64_t ready_ns, int64_t duration_ns, const TimeShare& share,
         uint32_t most, Pieces* pieces) {
  pieces->count = 0;
  int64_t at = std::max(ready_ns, engine.floor_ns);
  int64_t left = duration_ns;
  const bool shared = share.slice_ns > 0 && share.processes > 1;
  uint32_t next = 0;  // first reservation that ends behind `at`
  while (shared && left > 0 && pieces->count + 1 < most) {
    const int64_t slice = at / share.slice_ns;
    const int64_t turn = (share.rank - slice % share.processes + share.processes) % share.processes;
    if (turn != 0) at = (slice + turn) * share.slice_ns;
    while (next < engine.count && engine.busy[next].end_ns <= at) ++next;
    int64_t free_until = std::numeric_limits<int64_t>::max();
    if (next < engine.count) {
      if (engine.busy[next].start_ns <= at) {
        at = engine.busy[next].end_ns;
        continue;
      }
      free_until = engine.busy[next].start_ns;
    }
    const int64_t slice_end = (at / share.slice_ns + 1) * share.slice_ns;
    const int64_t end = std::min({slice_end, free_until, at + left});
    append(*pieces, at, end);
    left -= end - at;
    at = end;
  }
  if (left == 0 && pieces->count > 0) return;
  const int64_t start = engine.earliest(at, left);
  append(*pieces, start, start + left);
}

}  // namespace gpusim
