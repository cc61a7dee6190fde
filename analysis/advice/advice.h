// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/diagnosis.h"

namespace whystall::advice {

/// One sentence: what it means that idle time went to this.
std::string_view meaning(model::Cause cause);

struct NextStep {
  std::string brief;     // at most kBriefColumns, for a line of the first screen
  std::string sentence;  // what to check first, in full
};
constexpr int kBriefColumns = 45;

/// What to check first about a finding. Nothing where advice would be a guess: below a twentieth of
/// the stalled time that is proven or likely.
std::optional<NextStep> next_step(const model::Diagnosis& diagnosis, const model::Finding& finding);

}  // namespace whystall::advice
