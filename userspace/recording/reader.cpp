// SPDX-License-Identifier: Apache-2.0
#include "recording/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
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

std::optional<Chunk> Reader::next() {
  for (;;) {
    ChunkHeader header{};
    const off_t at = ::lseek(fd_.get(), 0, SEEK_CUR);
    if (!read_exact(&header, sizeof header)) {
      stats_.cut |= ::lseek(fd_.get(), 0, SEEK_END) > at;
      return std::nullopt;
    }
    if (header.magic != kChunkMagic || header.stored_bytes > kMaxChunkBytes ||
        header.raw_bytes > kMaxChunkBytes) {
      // Without a believable length there is no way to the next chunk.
      stats_.damaged_chunks++;
      stats_.cut = true;
      return std::nullopt;
    }
    if (header.chunk_class == static_cast<std::uint16_t>(ChunkClass::kFree) &&
        chunk_checksum(header, {}) == header.checksum) {
      stats_.gone_until_ns = std::max(stats_.gone_until_ns, header.last_ns);
      ::lseek(fd_.get(), header.stored_bytes, SEEK_CUR);  // its bytes need not be there
      continue;
    }
    std::vector<std::byte> stored(header.stored_bytes);
    if (!read_exact(stored.data(), stored.size())) {
      stats_.cut = true;
      return std::nullopt;
    }
    stats_.chunks++;
    if (chunk_checksum(header, stored) != header.checksum) {
      stats_.damaged_chunks++;
      continue;
    }
    const auto chunk_class = static_cast<ChunkClass>(header.chunk_class);
    if (chunk_class != ChunkClass::kMeta && chunk_class != ChunkClass::kEvents) {
      stats_.unknown_chunks++;
      continue;
    }
    auto raw = unpack(header, std::move(stored));
    if (!raw) {
      stats_.damaged_chunks++;
      continue;
    }
    stats_.stored_bytes += sizeof header + header.stored_bytes;
    stats_.raw_bytes += raw->size();
    return Chunk{chunk_class, std::move(*raw), header.count};
  }
}

std::optional<std::vector<std::byte>> Reader::unpack(const ChunkHeader& header,
                                                     std::vector<std::byte> stored) const {
  if (!(header.flags & kChunkZstd)) return stored;
  std::vector<std::byte> raw(header.raw_bytes);
  const std::size_t n = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(n) || n != raw.size()) return std::nullopt;
  return raw;
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
