// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/nvml.h"

namespace whystall::load {

/// Takes one piece of what META says of NVML: what it lists is added to what came before. Entries
/// that cannot be are counted, not believed.
void take_nvml(model::Nvml& nvml, const nlohmann::json& piece);

/// When all pieces are there: in a recording of bounded size they are not in the order of time.
void sort_samples(model::Nvml& nvml);

}  // namespace whystall::load
