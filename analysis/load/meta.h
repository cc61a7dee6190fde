// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "model/recording.h"

namespace whystall::load {

/// Takes what a META chunk says; later chunks win, but what they say of NVML adds up. False: it is
/// not a JSON object, its targets are of wrong types, or it is longer than any that a writer makes.
bool read_meta(model::Meta& meta, std::span<const std::byte> chunk);

/// Moves the window's start, on both clocks, to the time from which the records are whole. Returns
/// by how much; 0 when they always were or when the time cannot be.
model::DurationNs move_start(model::Meta& meta, model::TimeNs gone_until);

/// A recording that its writer could not end: the window is as long as there are records. So is one
/// whose window cannot be.
void close_window(model::Meta& meta, model::LoadStats& stats, model::TimeNs last_record);

}  // namespace whystall::load
