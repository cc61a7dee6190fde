// SPDX-License-Identifier: Apache-2.0
// How a thread waits for the device, and spends the CPU time that the driver costs.
#pragma once

#include <cstdint>

#include "when.h"

namespace gpusim {

enum class SyncMode { kSpin, kYield, kBlocking };

struct Wait {
  When until;
  SyncMode mode = SyncMode::kSpin;
};

// Returns once `now_ns()` has reached the planned moment.
void wait_for(Wait wait);
// To be called when moments have become known: lets blocked threads look again.
void wake_blocked();
// Keeps the CPU busy until then.
void burn_until(int64_t until_ns);

// A timer to poll, so that a wake comes from interrupt context, as a device's would.
class Timer {
 public:
  Timer();
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // kUnknown: not at all. Any thread may arm it.
  bool arm(int64_t at_ns) const;
  // Sleeps until the timer has fired since the last arm().
  void wait() const;

 private:
  int fd_;
};

}  // namespace gpusim
