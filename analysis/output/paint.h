// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace whystall::output {

/// The terminal's own colours, or none.
struct Paint {
  bool on;
  std::string bold(const std::string& s) const { return on ? "\033[1m" + s + "\033[0m" : s; }
  std::string dim(const std::string& s) const { return on ? "\033[2m" + s + "\033[0m" : s; }
};

}  // namespace whystall::output
