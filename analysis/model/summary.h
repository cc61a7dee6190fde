// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "model/recording.h"

namespace whystall::model {

/// Records of one kind that were lost.
struct LossTotal {
  std::uint64_t count = 0;
  TimeNs first_ns = 0;
  TimeNs last_ns = 0;
};

/// What a recording holds, without what it means.
struct Summary {
  std::uint16_t format_major = 0;
  std::uint16_t format_minor = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t chunks = 0;
  std::uint64_t stored_bytes = 0;  // of the chunks that could be read
  std::uint64_t raw_bytes = 0;
  Meta meta;  // its window as the report has it
  LoadStats stats;
  std::array<std::uint64_t, WST_SAMPLE + 1> records{};  // indexed by wst_kind
  std::array<LossTotal, WST_LOSS_CLASSES> losses{};     // indexed by wst_loss_class
  LossTotal other_losses;                               // of classes that are not known
};

}  // namespace whystall::model
