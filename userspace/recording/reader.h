// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "recording/format.h"

struct ZSTD_DCtx_s;

namespace whystall::recording {

struct Chunk {
  ChunkClass chunk_class = ChunkClass::kMeta;
  std::vector<std::byte> bytes;
  std::uint32_t count = 0;
  std::uint64_t at = 0;  // where it lies in the file
};

/// What a reader met and passed over.
struct ReadStats {
  std::uint64_t chunks = 0;
  std::uint64_t unknown_chunks = 0;
  std::uint64_t damaged_chunks = 0;  // checksum or compression wrong: skipped
  bool cut = false;                  // the file ends inside a chunk
  std::uint64_t stored_bytes = 0;    // of the chunks that were given
  std::uint64_t raw_bytes = 0;
  std::int64_t gone_until_ns = 0;  // records up to here have made way for later ones; 0: none have
};

/// Reads a recording chunk by chunk. The file may be hostile: every length is checked before it is
/// used. Errors of open(): unreadable.
class Reader {
 public:
  static Result<Reader> open(const std::string& path);

  /// The next chunk of records or meta; nothing at the end of the file. A damaged chunk is counted
  /// and skipped.
  std::optional<Chunk> next();
  /// The same, into a chunk whose room is used again. False: at the end of the file.
  bool next(Chunk& chunk);
  /// Reads a chunk that next() has given, by its place, a second time; what was next stays so.
  /// False: it has changed since.
  bool read_again(std::uint64_t at, Chunk& chunk);
  const ReadStats& stats() const { return stats_; }
  std::uint16_t minor_version() const { return minor_; }

 private:
  Reader() = default;
  struct FreeContext {
    void operator()(ZSTD_DCtx_s* context) const;
  };

  bool read_exact(void* to, std::size_t bytes);
  bool read_exact_at(std::uint64_t at, void* to, std::size_t bytes) const;
  /// What is stored.
  bool unpack(const ChunkHeader& header, std::vector<std::byte>& raw);

  Fd fd_;
  std::unique_ptr<ZSTD_DCtx_s, FreeContext> zstd_;
  std::vector<std::byte> stored_;
  std::uint16_t minor_ = 0;
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
