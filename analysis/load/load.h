// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/recording.h"

namespace whystall::load {

/// The most memory that the records and names of a recording may take; reading adds a chunk at a
/// time, less than 1 GiB.
constexpr std::uint64_t kMaxMemory = std::uint64_t{8} << 30;

/// Reads a recording into memory. The file may be hostile or cut: what does not fit is counted, not
/// believed. Error: unreadable, also when it would take more than `max_memory` bytes.
Result<model::Recording> load_recording(const std::string& path,
                                        std::uint64_t max_memory = kMaxMemory);

}  // namespace whystall::load
