// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "model/recording.h"

namespace whystall::load {

/// Reads a recording into memory. The file may be hostile or cut: what does not fit is counted, not
/// believed. Error: unreadable.
Result<model::Recording> load_recording(const std::string& path);

}  // namespace whystall::load
