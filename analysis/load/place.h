// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "abi/events.h"
#include "model/time.h"

namespace whystall::load {

/// Where a chunk lies, how many bytes of states it holds, and of what time.
struct Place {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  model::TimeNs first = std::numeric_limits<model::TimeNs>::max();
  model::TimeNs last = std::numeric_limits<model::TimeNs>::min();

  void note(const wst_hdr& state) {
    bytes += state.size;
    first = std::min(first, static_cast<model::TimeNs>(state.ts));
    last = std::max(last, static_cast<model::TimeNs>(state.ts));
  }
};

}  // namespace whystall::load
