// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "capture/sources.h"

namespace whystall::capture {

/// One source as `whystall check` tells of it.
struct CheckedSource {
  std::string name;
  SourceState state;
  std::string tells;
  std::string why;     // empty when live
  std::string effect;  // what the answer lacks; empty when live
  std::string remedy;  // empty when there is none
  std::string price;   // as measured here; empty when it was not
};

/// Loads and attaches everything, watching a child of its own, measures what it costs here and
/// takes it away again. Error: cannot trace, when this host or this user cannot trace at all.
Result<std::vector<CheckedSource>> check_sources();

}  // namespace whystall::capture
