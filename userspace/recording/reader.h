// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "recording/format.h"

namespace whystall::recording {

struct Chunk {
  ChunkClass chunk_class;
  std::vector<std::byte> bytes;
  std::uint32_t count;
};

/// What a reader met and passed over.
struct ReadStats {
  std::uint64_t chunks = 0;
  std::uint64_t unknown_chunks = 0;
  std::uint64_t damaged_chunks = 0;  // checksum or compression wrong: skipped
  bool cut = false;                  // the file ends inside a chunk
};

/// Reads a recording chunk by chunk. The file may be hostile: every length is checked before it is
/// used. Errors of open(): unreadable.
class Reader {
 public:
  static Result<Reader> open(const std::string& path);

  /// The next chunk of a known class; nothing at the end of the file. A damaged chunk is counted
  /// and skipped.
  std::optional<Chunk> next();
  const ReadStats& stats() const { return stats_; }

 private:
  Reader() = default;
  bool read_exact(void* to, std::size_t bytes);

  Fd fd_;
  ReadStats stats_;
};

/// Calls `visit(record)` for each record of an EVENTS chunk; a record whose size does not fit ends
/// the walk. Returns false in that case.
template <typename Visit>
bool for_each_record(std::span<const std::byte> bytes, Visit visit) {
  while (!bytes.empty()) {
    std::uint16_t size = 0;
    if (bytes.size() < 16) return false;
    __builtin_memcpy(&size, bytes.data(), sizeof size);
    if (size < 16 || size > bytes.size()) return false;
    visit(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return true;
}

}  // namespace whystall::recording
