// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "gaps/gaps.h"
#include "ledger/names.h"
#include "model/diagnosis.h"
#include "model/recording.h"

namespace whystall::ledger {

/// Calls that took long, by their own time; most time first.
std::vector<model::LongCalls> long_calls(const model::Recording& recording, const Names& names);

/// What is known of a device, with what its own counters say of it.
model::DeviceTime device_time(const gaps::Device& device, const model::Meta& meta);

}  // namespace whystall::ledger
