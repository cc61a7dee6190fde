// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace whystall::target {

/// Where in a function's x86-64 code to put a probe: the first instruction that the kernel emulates
/// instead of single-stepping (a tenth of the cost), that every call passes, and at which the
/// argument registers and the stack pointer are still those of the entry. 0, the entry itself, when
/// there is none or the code on the way to it is not fully understood. `code` may be cut anywhere.
std::uint64_t probe_offset(std::span<const std::byte> code);

}  // namespace whystall::target
