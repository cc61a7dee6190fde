// SPDX-License-Identifier: Apache-2.0
// Planned moments. Nearly all are known at once; only what is behind a host function is not until
// that function has returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace gpusim {

constexpr int64_t kUnknown = INT64_MAX;

// Becomes known once. Waiting threads read it without a lock.
struct Moment {
  std::atomic<int64_t> ns = kUnknown;
};

// The latest of `ns` and of some moments that may not be known yet.
struct When {
  int64_t ns = 0;
  std::vector<std::shared_ptr<Moment>> open;

  void join(int64_t other_ns);
  void join(const When& other);
  // Folds in what is known by now. True: all is, and the moment is `ns`.
  bool settle();
  bool reached(int64_t now_ns) { return settle() && ns <= now_ns; }
};

}  // namespace gpusim
