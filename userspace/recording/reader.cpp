// SPDX-License-Identifier: Apache-2.0
#include "recording/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace whystall::recording {

Result<Reader> Reader::open(const std::string& path) {
  Reader reader;
  reader.fd_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reader.fd_.valid()) {
    return Error{ErrorCode::kUnreadable, "cannot open " + path + ": " + std::strerror(errno)};
  }
  FileHeader header{};
  if (!reader.read_exact(&header, sizeof header) || header.magic != kMagic) {
    return Error{ErrorCode::kUnreadable, path + " is not a whystall recording"};
  }
  if (header.major != kMajor) {
    return Error{ErrorCode::kUnreadable, path + " has format " + std::to_string(header.major) +
                                             ", this whystall reads format " +
                                             std::to_string(kMajor)};
  }
  reader.minor_ = header.minor;
  return reader;
}

namespace {

bool has_believable_length(const ChunkHeader& header) {
  return header.magic == kChunkMagic && header.stored_bytes <= kMaxChunkBytes &&
         header.raw_bytes <= kMaxChunkBytes;
}

}  // namespace

std::optional<Chunk> Reader::next() {
  Chunk chunk;
  if (!next(chunk)) return std::nullopt;
  return chunk;
}

bool Reader::next(Chunk& chunk) {
  for (;;) {
    ChunkHeader header{};
    const off_t at = ::lseek(fd_.get(), 0, SEEK_CUR);
    if (!read_exact(&header, sizeof header)) {
      stats_.cut |= ::lseek(fd_.get(), 0, SEEK_END) > at;
      return false;
    }
    if (!has_believable_length(header)) {
      // Without a believable length there is no way to the next chunk.
      stats_.damaged_chunks++;
      stats_.cut = true;
      return false;
    }
    if (header.chunk_class == static_cast<std::uint16_t>(ChunkClass::kFree) &&
        chunk_checksum(header, {}) == header.checksum) {
      stats_.gone_until_ns = std::max(stats_.gone_until_ns, header.last_ns);
      ::lseek(fd_.get(), header.stored_bytes, SEEK_CUR);  // its bytes need not be there
      continue;
    }
    stored_.resize(header.stored_bytes);
    if (!read_exact(stored_.data(), stored_.size())) {
      stats_.cut = true;
      return false;
    }
    stats_.chunks++;
    if (chunk_checksum(header, stored_) != header.checksum) {
      stats_.damaged_chunks++;
      continue;
    }
    chunk.chunk_class = static_cast<ChunkClass>(header.chunk_class);
    if (chunk.chunk_class != ChunkClass::kMeta && chunk.chunk_class != ChunkClass::kEvents) {
      stats_.unknown_chunks++;
      continue;
    }
    if (!unpack(header, chunk.bytes)) {
      stats_.damaged_chunks++;
      continue;
    }
    stats_.stored_bytes += sizeof header + header.stored_bytes;
    stats_.raw_bytes += chunk.bytes.size();
    chunk.count = header.count;
    chunk.at = static_cast<std::uint64_t>(at);
    return true;
  }
}

/// Its checksum was right at the first time. If the file has changed since, a wrong length or
/// compression tells, and records that do not fit are passed over as ever.
bool Reader::read_again(std::uint64_t at, Chunk& chunk) {
  ChunkHeader header{};
  if (!read_exact_at(at, &header, sizeof header) || !has_believable_length(header)) return false;
  stored_.resize(header.stored_bytes);
  if (!read_exact_at(at + sizeof header, stored_.data(), stored_.size())) return false;
  chunk.chunk_class = static_cast<ChunkClass>(header.chunk_class);
  chunk.count = header.count;
  chunk.at = at;
  return unpack(header, chunk.bytes);
}

bool Reader::unpack(const ChunkHeader& header, std::vector<std::byte>& raw) {
  if (!(header.flags & kChunkZstd)) {
    raw.assign(stored_.begin(), stored_.end());
    return true;
  }
  if (!zstd_) zstd_.reset(ZSTD_createDCtx());
  raw.resize(header.raw_bytes);
  const std::size_t n =
      ZSTD_decompressDCtx(zstd_.get(), raw.data(), raw.size(), stored_.data(), stored_.size());
  return !ZSTD_isError(n) && n == raw.size();
}

void Reader::FreeContext::operator()(ZSTD_DCtx_s* context) const {
  ZSTD_freeDCtx(context);
}

bool Reader::read_exact_at(std::uint64_t at, void* to, std::size_t bytes) const {
  auto* place = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_.get(), place, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    place += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool Reader::read_exact(void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::read(fd_.get(), at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace whystall::recording
