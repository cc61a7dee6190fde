// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/time.h"

namespace whystall::model {

/// What people suspect first when a device idles, and whether it can be cleared.
struct Suspect {
  enum class Verdict {
    kCleared,     // what would have seen it was live for the whole window, and has not
    kFound,       // it has a share of the stall: see the findings
    kNotChecked,  // it may have been there
  };
  std::string name;   // stable, for JSON: "cpu_quota"
  std::string words;  // "CPU quota"
  Verdict verdict = Verdict::kNotChecked;
  DurationNs ns = 0;  // of the stalled time
  std::string why;    // kNotChecked: why; else empty
};

}  // namespace whystall::model
