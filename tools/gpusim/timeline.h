// SPDX-License-Identifier: Apache-2.0
// One engine's planned work. Plain data: it lives in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusim {

struct Reservation {
  int64_t start_ns;
  int64_t end_ns;
};

// Sorted, disjoint reservations. A later submit may take a gap that an earlier one left (a kernel
// that waits for an event does not keep the engine from work that is ready), and never moves one.
struct Timeline {
  static constexpr size_t kCapacity = 2048;

  int64_t floor_ns;  // end of the latest reservation that was dropped
  uint32_t count;
  uint32_t unused;
  Reservation busy[kCapacity];

  // Earliest start >= ready_ns at which the engine is free for duration_ns.
  int64_t earliest(int64_t ready_ns, int64_t duration_ns) const;
  // Enters [start, end), which must be free. Forgets what ended before `now_ns`.
  void reserve(int64_t start_ns, int64_t end_ns, int64_t now_ns);

 private:
  void forget_before(int64_t now_ns);
};

}  // namespace gpusim
