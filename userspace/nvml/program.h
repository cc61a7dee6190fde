// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace whystall::nvml {

/// The program that reads NVML (sampler.c), as an executable file's bytes: whystall itself may be
/// static and cannot load a library.
std::span<const std::byte> program();

}  // namespace whystall::nvml
