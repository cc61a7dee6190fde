// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/diagnosis.h"
#include "model/recording.h"

namespace whystall::ledger {

/// The whole analysis: gaps, the walk of each, and the sums. Integers throughout; the difference
/// between the gaps and what was charged is kept in `conservation_error_ns` and is 0 unless there
/// is a fault in the walk.
model::Diagnosis diagnose(const model::Recording& recording);

}  // namespace whystall::ledger
