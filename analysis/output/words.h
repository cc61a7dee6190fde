// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "model/diagnosis.h"

namespace whystall::output {

/// "1073 waits in read, mean 4.9 ms, every 100 gaps (2.00 s)"; the rule only if it fits.
std::string how_often(const model::Finding& finding, const model::Meta& meta, int columns);

/// "every 100 gaps (2.00 s)", "once"; empty where there is no rule.
std::string recurrence_words(const model::Recurrence& recurrence, const model::Meta& meta);

/// Of an unknown, in one line: "no wake-up seen 0.30 s, timed wait ran out 0.20 s and 2 more".
std::string reasons(const model::Finding& finding, int columns);

/// Two lists at most: what is cleared, and what was not checked and why.
std::string suspects_words(const std::vector<model::Suspect>& suspects, int columns,
                           int lines_each);

}  // namespace whystall::output
