// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "load/load.h"
#include "load/source.h"

namespace whystall::load {

/// How much a source may take; what is found is the same.
struct SourceLimits {
  /// Bytes of what must be known of the whole recording: driver calls, samples, names.
  std::uint64_t max_memory = kMaxMemory;
  /// Bytes of states' records in one slab, about: a slab ends with a chunk.
  std::uint64_t slab_bytes = std::uint64_t{20} << 20;
  /// Bytes of the states of threads that call the driver, which are kept where they are no more.
  std::uint64_t caller_bytes = std::uint64_t{32} << 20;
};

/// A recording in a file, which may be hostile or cut: what does not fit is counted, not believed.
/// One that is small stays in memory; of a large one the file is read once for each pass of the
/// analysis, and must not change meanwhile. Error: unreadable, also when it would take too much.
Result<std::unique_ptr<Source>> open_source(const std::string& path,
                                            const SourceLimits& limits = {});

}  // namespace whystall::load
