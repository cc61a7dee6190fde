// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace whystall::load {

// What records take in memory beside their own bytes.

/// A vector that has just grown holds its records twice; later it may have as much room again.
constexpr std::uint64_t kVectorFactor = 2;
/// Of a node of a map, beside what it holds: its links, and what the allocator adds to both.
constexpr std::uint64_t kNodeBytes = 64;
/// Of a text, beside its bytes.
constexpr std::uint64_t kTextBytes = 32;

}  // namespace whystall::load
