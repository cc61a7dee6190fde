// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace whystall::capture {

/// Which tasks' journals are still to be asked for. A task that wakes a target is watched from then
/// on and its journal is written; that journal names wakers in its turn, of whom nothing is known
/// yet. Asking for theirs, and so on, keeps a chain whole that happened once.
class JournalRequests {
 public:
  /// Looks at a record on its way to the file.
  void see(std::span<const std::byte> record);

  /// The tasks that were named since the last call and never given out before.
  std::vector<std::uint32_t> take();

 private:
  std::set<std::uint32_t> known_;  // watched, or asked for
  std::vector<std::uint32_t> wanted_;
};

}  // namespace whystall::capture
