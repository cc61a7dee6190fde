// SPDX-License-Identifier: Apache-2.0
// A kernel's run on a compute slot: in one piece, or in the slices of its process when several
// processes share the device's time.
#pragma once

#include <cstdint>

#include "timeline.h"

namespace gpusim {

struct TimeShare {
  int64_t slice_ns = 0;  // 0: not shared
  int64_t processes = 1;
  int64_t rank = 0;  // slice number n belongs to the process of rank n modulo `processes`
};

struct Pieces {
  static constexpr uint32_t kCapacity = 506;

  uint32_t count;
  Reservation at[kCapacity];

  int64_t start_ns() const { return at[0].start_ns; }
  int64_t end_ns() const { return at[count - 1].end_ns; }
};

// Lays `duration_ns` into the free time of `engine` from `ready_ns` on. No more than `most` pieces:
// what is left then runs undivided.
void lay(const Timeline& engine, int64_t ready_ns, int64_t duration_ns, const TimeShare& share,
         uint32_t most, Pieces* pieces);

}  // namespace gpusim
