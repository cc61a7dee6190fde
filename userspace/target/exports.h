// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace whystall::target {

/// A function that a shared library exports, where its code lies in the file, and where in the file
/// to probe it: at the entry or later, but with the entry's arguments and stack (see prologue.h).
struct Export {
  std::string name;
  std::uint64_t file_offset;
  std::uint64_t probe_offset;
};

/// All functions in the dynamic symbol table (present in stripped libraries too). The file may be
/// hostile. Error: cannot trace.
Result<std::vector<Export>> exported_functions(const std::string& path);

}  // namespace whystall::target
