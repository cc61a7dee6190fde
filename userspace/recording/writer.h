// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "recording/format.h"

struct ZSTD_CCtx_s;

namespace whystall::recording {

/// Writes a recording, mode 0600. Records gather in a buffer and leave as one compressed chunk when
/// it is full or on flush(). Errors: incomplete, with the system's reason.
class Writer {
 public:
  static Result<Writer> create(const std::string& path);

  /// `record` starts with a wst_hdr whose size is record.size().
  Status add_record(std::span<const std::byte> record);
  Status add_meta(std::string_view json);
  Status flush();

  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t records() const { return records_; }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  Writer() = default;
  Status write_chunk(ChunkClass chunk_class, std::span<const std::byte> raw, std::uint32_t count,
                     std::int64_t first_ns, std::int64_t last_ns);
  Status write_all(std::span<const std::byte> bytes);

  Fd fd_;
  std::string path_;
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> zstd_;
  std::vector<std::byte> pending_;
  std::vector<std::byte> packed_;
  std::uint32_t pending_count_ = 0;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace whystall::recording
