// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "model/time.h"

namespace whystall::model {

/// Files that the targets had mapped when the recording began or ended.
struct Mappings {
  struct File {
    std::string path;
    std::string fs_type;
  };
  struct Code {
    std::uint64_t hi = 0;  // the addresses end before
    std::string path;
  };
  /// By inode and device; a mapping does not tell the generation.
  std::map<std::pair<std::uint64_t, std::uint32_t>, File> files;
  /// By process and first address.
  std::map<std::pair<Pid, std::uint64_t>, Code> code;

  /// The file whose code lies at `ip`; null when that is not known.
  const std::string* code_at(Pid pid, std::uint64_t ip) const {
    auto next = code.upper_bound({pid, ip});
    if (next == code.begin()) return nullptr;
    --next;
    return next->first.first == pid && ip < next->second.hi ? &next->second.path : nullptr;
  }
};

}  // namespace whystall::model
