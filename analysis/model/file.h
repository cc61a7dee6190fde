// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace whystall::model {

struct FileKey {
  std::uint64_t ino = 0;
  std::uint32_t dev = 0;
  std::uint32_t generation = 0;
  auto operator<=>(const FileKey&) const = default;
};

struct File {
  std::string path;
  std::string fs_type;
  bool deleted = false;
  bool truncated = false;
};

}  // namespace whystall::model
