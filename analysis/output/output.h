// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/diagnosis.h"

namespace whystall::output {

struct TextStyle {
  bool color = false;
  int columns = 80;
};

/// The first screen.
std::string render_text(const model::Diagnosis& diagnosis, const TextStyle& style);

/// Strict JSON, whatever bytes names contain; every number of the first screen is in it.
std::string render_json(const model::Diagnosis& diagnosis);

/// Makes a name printable: what is not UTF-8 becomes U+FFFD, control characters become blanks.
std::string printable(std::string_view text);

}  // namespace whystall::output
