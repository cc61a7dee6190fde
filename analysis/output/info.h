// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/summary.h"

namespace whystall::output {

/// What a recording holds, in at most 24 lines of 80 columns.
std::string render_info_text(const model::Summary& summary, const std::string& file);

/// The same as strict JSON.
std::string render_info_json(const model::Summary& summary, const std::string& file);

}  // namespace whystall::output
