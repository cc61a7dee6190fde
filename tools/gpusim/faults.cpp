// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <cstdlib>
#include <cstring>

namespace gpusim {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;

uint64_t number(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace

void Faults::read_environment() {
  memory_bytes = number("GPUSIM_OOM_AFTER_BYTES", memory_bytes);
  failing_launch = number("GPUSIM_FAIL_LAUNCH", 0);
  context_ns = static_cast<int64_t>(number("GPUSIM_CONTEXT_MS", 0)) * kNsPerMs;
  stalled_free = number("GPUSIM_STALL_FREE", 0);
  const char* stall = std::getenv("GPUSIM_STALL_FREE");
  const char* ms = stall ? std::strchr(stall, ':') : nullptr;
  if (ms) stall_ns = std::strtoll(ms + 1, nullptr, 10) * kNsPerMs;
}

}  // namespace gpusim
