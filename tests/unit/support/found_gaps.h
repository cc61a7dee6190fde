// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "evidence/evidence.h"
#include "gaps/gaps.h"
#include "timeline/timeline.h"

namespace whystall::testing {

/// Of all devices of a recording.
struct FoundGaps {
  std::vector<gaps::Gap> gaps, silences;  // by process, then by time
  model::DurationNs starved_ns = 0, had_work_ns = 0, not_known_ns = 0, possibly_starved_ns = 0;
  evidence::Evidence evidence;
};

inline FoundGaps find_gaps(const model::Recording& recording) {
  const timeline::Timeline timeline(recording);
  FoundGaps found;
  found.evidence = evidence::find_evidence(recording, {recording, timeline});
  for (const gaps::Device& device : gaps::find_gaps(recording, found.evidence)) {
    found.gaps.insert(found.gaps.end(), device.gaps.begin(), device.gaps.end());
    found.silences.insert(found.silences.end(), device.silences.begin(), device.silences.end());
    found.starved_ns += device.starved_ns;
    found.had_work_ns += device.had_work_ns;
    found.not_known_ns += device.not_known_ns;
    found.possibly_starved_ns += device.possibly_starved_ns;
  }
  return found;
}

}  // namespace whystall::testing
