// SPDX-License-Identifier: Apache-2.0
#include "recording/writer.h"

#include <fcntl.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/events.h"

namespace whystall::recording {

namespace {

constexpr std::size_t kChunkTarget = 256u << 10;
constexpr int kZstdLevel = -1;  // 0.7 % of a CPU at the design rate

Error failed(const std::string& path, const char* what) {
  return {ErrorCode::kIncomplete,
          "cannot " + std::string(what) + " " + path + ": " + std::strerror(errno)};
}

}  // namespace

void Writer::FreeContext::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

Result<Writer> Writer::create(const std::string& path) {
  Writer writer;
  writer.path_ = path;
  writer.fd_ =
      Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!writer.fd_.valid()) return failed(path, "create");
  writer.zstd_.reset(ZSTD_createCCtx());
  writer.pending_.reserve(kChunkTarget + 4096);
  writer.packed_.resize(ZSTD_compressBound(kChunkTarget + 65536));
  const FileHeader header{kMagic, kMajor, kMinor, 0};
  if (auto status = writer.write_all(std::as_bytes(std::span(&header, 1))); !status)
    return status.error();
  return writer;
}

Status Writer::add_record(std::span<const std::byte> record) {
  std::int64_t ts = 0;
  std::memcpy(&ts, record.data() + offsetof(wst_hdr, ts), sizeof ts);
  if (pending_count_ == 0) first_ns_ = last_ns_ = ts;
  first_ns_ = std::min(first_ns_, ts);
  last_ns_ = std::max(last_ns_, ts);
  pending_.insert(pending_.end(), record.begin(), record.end());
  pending_count_++;
  records_++;
  if (pending_.size() >= kChunkTarget) return flush();
  return Nothing{};
}

Status Writer::add_meta(std::string_view json) {
  if (auto status = flush(); !status) return status;
  return write_chunk(ChunkClass::kMeta, std::as_bytes(std::span(json)), 1, 0, 0);
}

Status Writer::flush() {
  if (pending_count_ == 0) return Nothing{};
  auto status = write_chunk(ChunkClass::kEvents, pending_, pending_count_, first_ns_, last_ns_);
  pending_.clear();
  pending_count_ = 0;
  return status;
}

Status Writer::write_chunk(ChunkClass chunk_class, std::span<const std::byte> raw,
                           std::uint32_t count, std::int64_t first_ns, std::int64_t last_ns) {
  packed_.resize(std::max(packed_.size(), sizeof(ChunkHeader) + ZSTD_compressBound(raw.size())));
  const std::size_t stored =
      ZSTD_compressCCtx(zstd_.get(), packed_.data() + sizeof(ChunkHeader),
                        packed_.size() - sizeof(ChunkHeader), raw.data(), raw.size(), kZstdLevel);
  if (ZSTD_isError(stored)) {
    return Error{ErrorCode::kIncomplete,
                 "cannot compress a chunk: " + std::string(ZSTD_getErrorName(stored))};
  }
  ChunkHeader header{};
  header.magic = kChunkMagic;
  header.chunk_class = static_cast<std::uint16_t>(chunk_class);
  header.flags = kChunkZstd;
  header.stored_bytes = static_cast<std::uint32_t>(stored);
  header.raw_bytes = static_cast<std::uint32_t>(raw.size());
  header.count = count;
  header.first_ns = first_ns;
  header.last_ns = last_ns;
  header.checksum = chunk_checksum(header, std::span(packed_.data() + sizeof header, stored));
  std::memcpy(packed_.data(), &header, sizeof header);
  return write_all(std::span(packed_.data(), sizeof header + stored));
}

Status Writer::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed(path_, "write");
    bytes_written_ += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return Nothing{};
}

}  // namespace whystall::recording
