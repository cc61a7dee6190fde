// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "load/source.h"
#include "model/diagnosis.h"
#include "model/recording.h"

namespace whystall::ledger {

/// The whole analysis: gaps, the walk of each, and the sums. Integers throughout; the difference
/// between the gaps and what was charged is kept in `conservation_error_ns` and is 0 unless there
/// is a fault in the walk.
///
/// The answer does not depend on how the source cuts the recording into slabs; the memory that it
/// takes does. Error: unreadable.
Result<model::Diagnosis> diagnose(load::Source& source);

/// Of a recording that is in memory.
model::Diagnosis diagnose(const model::Recording& recording);

}  // namespace whystall::ledger
