// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "model/diagnosis.h"

namespace whystall::output {

struct TextStyle {
  bool color = false;
  int columns = 80;
};

/// The first screen: 80 columns (or the style's), 24 lines.
std::string render_text(const model::Diagnosis& diagnosis, const TextStyle& style);

/// Strict JSON, whatever bytes names contain; every number of the first screen is in it.
std::string render_json(const model::Diagnosis& diagnosis);

/// The finding of this rank, from 1, or of this cause, the dearest one; null: there is none.
const model::Finding* find_cause(const model::Diagnosis& diagnosis, std::string_view rank_or_name);

/// All that is known of one finding of the diagnosis, as text and as the JSON that it has in the
/// report.
std::string render_cause_text(const model::Diagnosis& diagnosis, const model::Finding& finding,
                              const TextStyle& style);
std::string render_cause_json(const model::Diagnosis& diagnosis, const model::Finding& finding);

/// JSON Schema (draft 2020-12) of what render_json() gives.
std::string_view report_schema();

/// Makes a name printable: what is not UTF-8 becomes U+FFFD, control characters become blanks.
std::string printable(std::string_view text);

}  // namespace whystall::output
