// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "recording/format.h"
#include "recording/identities.h"
#include "recording/ring.h"

struct ZSTD_CCtx_s;

namespace whystall::recording {

/// The smallest recording that can be asked for.
constexpr std::uint64_t kMinMaxSize = 1u << 20;

/// Writes a recording, mode 0600. Records gather in a buffer and leave as one compressed chunk when
/// it is full or on flush(). Errors: incomplete, with the system's reason; the file then still ends
/// with the last whole chunk.
///
/// The file is opened at once, so that one that cannot be written is known early. Until something
/// is written, what was in it before stays, and if it was not there before, it goes with the
/// writer.
///
/// With a `max_size`, the file never grows beyond it: what was added by add_meta() before the first
/// record stays, the newest records stay, the oldest make way. A kill at any moment leaves a file
/// that reads whole, less what was not yet written: the room of a chunk is marked free before
/// anything in it changes, and the chunk's header, which never spans two pages, is written last.
class Writer {
 public:
  /// `max_size` is at least kMinMaxSize. Error also: usage, when it is given and this is no file.
  static Result<Writer> create(const std::string& path, std::optional<std::uint64_t> max_size = {});

  Writer(Writer&&) = default;
  ~Writer();

  /// `record` starts with a wst_hdr whose size is record.size().
  Status add_record(std::span<const std::byte> record);
  Status add_meta(std::string_view json);
  Status flush();

  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t records() const { return records_; }
  /// Time of the latest record that is in the file.
  std::int64_t written_until_ns() const { return written_until_ns_; }
  /// Time of the latest record that made way for others; 0: none did.
  std::int64_t gone_until_ns() const { return ring_ ? ring_->gone_until_ns() : 0; }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  Writer() = default;
  Status begin();
  void append(std::span<const std::byte> record);
  Status write_chunk(ChunkClass chunk_class, std::span<const std::byte> raw, std::uint32_t count,
                     std::int64_t first_ns, std::int64_t last_ns);
  /// The chunk lies in packed_, which has room for its padding and a header behind it.
  Status write_last(std::size_t bytes, ChunkHeader header);
  Status write_into_ring(std::size_t bytes, ChunkHeader header);
  std::size_t finish_chunk(std::size_t bytes, ChunkHeader header, std::uint64_t at);
  Status begin_ring();
  Status write_at(std::uint64_t at, std::span<const std::byte> bytes);

  Fd fd_;
  std::string path_;
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> zstd_;
  std::optional<std::uint64_t> max_size_;
  std::size_t chunk_target_ = 0;
  std::optional<Ring> ring_;  // from the first record on, if there is a bound
  Identities identities_;
  std::vector<std::byte> pending_;
  std::vector<std::byte> packed_;
  std::uint32_t pending_count_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::int64_t written_until_ns_ = 0;
  bool created_ = false;   // the file was not there before
  std::uint64_t end_ = 0;  // of the last whole chunk, while the file only grows; 0: not begun
  std::uint64_t bytes_written_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace whystall::recording
