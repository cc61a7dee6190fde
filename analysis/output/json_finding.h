// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "model/diagnosis.h"

namespace whystall::output {

/// The findings, each with the share that it has of `whole`. Those of the diagnosis's own list get
/// their rank and the next step.
nlohmann::ordered_json findings_json(const model::Diagnosis& diagnosis,
                                     std::span<const model::Finding> findings,
                                     model::DurationNs whole);

/// 0 where there is no whole.
double share(model::DurationNs part, model::DurationNs whole);

}  // namespace whystall::output
