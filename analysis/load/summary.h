// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "model/summary.h"

namespace whystall::load {

/// Counts what a recording holds, chunk by chunk: its size does not matter. The file may be hostile
/// or cut. Error: unreadable.
Result<model::Summary> summarize(const std::string& path);

}  // namespace whystall::load
