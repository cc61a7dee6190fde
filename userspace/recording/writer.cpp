// SPDX-License-Identifier: Apache-2.0
#include "recording/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/events.h"

namespace whystall::recording {

namespace {

constexpr std::size_t kChunkTarget = 256u << 10;
constexpr std::size_t kMinChunkTarget = 64u << 10;
/// What a chunk may be longer than its target: the record that filled it, and its identities.
constexpr std::size_t kOvershoot = 128u << 10;
constexpr int kZstdLevel = -1;  // 0.7 % of a CPU at the design rate

/// A header that spans two pages could be torn by a kill. Then a frame of this kind, which
/// decompression passes over, moves the next header to the page's beginning.
constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kSkippableFrame = 0x184d2a50;
constexpr std::size_t kMaxPadding = sizeof(ChunkHeader);

std::size_t padding(std::uint64_t next) {
  const std::uint64_t left = kPage - next % kPage;
  return left < sizeof(ChunkHeader) ? std::max<std::size_t>(left, 8) : 0;
}

ChunkHeader free_header(std::uint64_t from, std::uint64_t until, std::int64_t gone_until_ns) {
  ChunkHeader header{};
  header.magic = kChunkMagic;
  header.chunk_class = static_cast<std::uint16_t>(ChunkClass::kFree);
  header.stored_bytes = static_cast<std::uint32_t>(until - from - sizeof header);
  header.last_ns = gone_until_ns;
  header.checksum = chunk_checksum(header, {});
  return header;
}

Error failed(const std::string& path, const char* what) {
  return {ErrorCode::kIncomplete,
          "cannot " + std::string(what) + " " + path + ": " + std::strerror(errno)};
}

}  // namespace

void Writer::FreeContext::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

Result<Writer> Writer::create(const std::string& path, std::optional<std::uint64_t> max_size) {
  Writer writer;
  writer.path_ = path;
  writer.max_size_ = max_size;
  writer.chunk_target_ = kChunkTarget;
  if (max_size)
    writer.chunk_target_ = std::clamp<std::size_t>(*max_size / 16, kMinChunkTarget, kChunkTarget);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
  writer.fd_ = Fd(::open(path.c_str(), kFlags | O_EXCL, 0600));
  writer.created_ = writer.fd_.valid();
  if (!writer.created_ && errno == EEXIST) writer.fd_ = Fd(::open(path.c_str(), kFlags, 0600));
  if (!writer.fd_.valid()) return failed(path, "create");
  struct stat info{};
  if (max_size && (::fstat(writer.fd_.get(), &info) != 0 || !S_ISREG(info.st_mode)))
    return Error{ErrorCode::kUsage, path + " is no file whose size --max-size could bound"};
  writer.zstd_.reset(ZSTD_createCCtx());
  writer.pending_.reserve(writer.chunk_target_ + 4096);
  return writer;
}

Writer::~Writer() {
  if (fd_.valid() && created_ && end_ == 0) ::unlink(path_.c_str());
}

Status Writer::begin() {
  if (end_ > 0) return Nothing{};
  struct stat info{};
  if (!created_ && ::fstat(fd_.get(), &info) == 0 && S_ISREG(info.st_mode) &&
      ::ftruncate(fd_.get(), 0) != 0) {
    return failed(path_, "write");
  }
  const FileHeader header{kMagic, kMajor, kMinor, 0};
  auto status = write_at(0, std::as_bytes(std::span(&header, 1)));
  if (status) end_ = sizeof header;
  return status;
}

Status Writer::add_record(std::span<const std::byte> record) {
  if (max_size_) {
    for (const auto identity : identities_.missing_for(record)) append(identity);
  }
  append(record);
  records_++;
  if (pending_.size() >= chunk_target_) return flush();
  return Nothing{};
}

void Writer::append(std::span<const std::byte> record) {
  std::int64_t ts = 0;
  std::memcpy(&ts, record.data() + offsetof(wst_hdr, ts), sizeof ts);
  if (pending_count_ == 0) first_ns_ = last_ns_ = ts;
  first_ns_ = std::min(first_ns_, ts);
  last_ns_ = std::max(last_ns_, ts);
  pending_.insert(pending_.end(), record.begin(), record.end());
  pending_count_++;
}

Status Writer::add_meta(std::string_view json) {
  if (auto status = flush(); !status) return status;
  if (auto status = begin(); !status) return status;
  return write_chunk(ChunkClass::kMeta, std::as_bytes(std::span(json)), 1, 0, 0);
}

Status Writer::flush() {
  if (pending_count_ == 0) return Nothing{};
  if (auto status = begin(); !status) return status;
  if (max_size_ && !ring_) {
    if (auto status = begin_ring(); !status) return status;
  }
  auto status = write_chunk(ChunkClass::kEvents, pending_, pending_count_, first_ns_, last_ns_);
  if (status) written_until_ns_ = std::max(written_until_ns_, last_ns_);
  pending_.clear();
  pending_count_ = 0;
  return status;
}

/// All that is in the file now describes the session: it stays, and the rest is the ring's.
Status Writer::begin_ring() {
  if (end_ + kMinMaxSize / 2 > *max_size_) {
    return Error{ErrorCode::kUsage,
                 "the description of the session leaves no room for records in a recording of " +
                     std::to_string(*max_size_) + " bytes; give it more with --max-size"};
  }
  const std::size_t bound =
      ZSTD_compressBound(chunk_target_ + kOvershoot) + 2 * sizeof(ChunkHeader) + kMaxPadding;
  ring_.emplace(end_, *max_size_, bound);
  return Nothing{};
}

Status Writer::write_chunk(ChunkClass chunk_class, std::span<const std::byte> raw,
                           std::uint32_t count, std::int64_t first_ns, std::int64_t last_ns) {
  const std::size_t bound = ZSTD_compressBound(raw.size());
  packed_.resize(
      std::max(packed_.size(), sizeof(ChunkHeader) + bound + kMaxPadding + sizeof(ChunkHeader)));
  const std::size_t stored = ZSTD_compressCCtx(zstd_.get(), packed_.data() + sizeof(ChunkHeader),
                                               bound, raw.data(), raw.size(), kZstdLevel);
  if (ZSTD_isError(stored)) {
    return Error{ErrorCode::kIncomplete,
                 "cannot compress a chunk: " + std::string(ZSTD_getErrorName(stored))};
  }
  ChunkHeader header{};
  header.magic = kChunkMagic;
  header.chunk_class = static_cast<std::uint16_t>(chunk_class);
  header.flags = kChunkZstd;
  header.raw_bytes = static_cast<std::uint32_t>(raw.size());
  header.count = count;
  header.first_ns = first_ns;
  header.last_ns = last_ns;
  const std::size_t bytes = sizeof header + stored;
  return ring_ ? write_into_ring(bytes, header) : write_last(bytes, header);
}

/// Adds the padding and the header. Returns the size of the whole.
std::size_t Writer::finish_chunk(std::size_t bytes, ChunkHeader header, std::uint64_t at) {
  if (const std::size_t pad = max_size_ ? padding(at + bytes) : 0; pad > 0) {
    const std::uint32_t frame[2] = {kSkippableFrame, static_cast<std::uint32_t>(pad - 8)};
    std::memset(packed_.data() + bytes, 0, pad);
    std::memcpy(packed_.data() + bytes, frame, sizeof frame);
    bytes += pad;
  }
  header.stored_bytes = static_cast<std::uint32_t>(bytes - sizeof header);
  header.checksum =
      chunk_checksum(header, std::span(packed_.data() + sizeof header, header.stored_bytes));
  std::memcpy(packed_.data(), &header, sizeof header);
  return bytes;
}

Status Writer::write_last(std::size_t bytes, ChunkHeader header) {
  bytes = finish_chunk(bytes, header, end_);
  auto status = write_at(end_, std::span(packed_.data(), bytes));
  if (status)
    end_ += bytes;
  else if (::ftruncate(fd_.get(), static_cast<off_t>(end_)) == 0)  // not if it is no file
    ::lseek(fd_.get(), static_cast<off_t>(end_), SEEK_SET);
  return status;
}

Status Writer::write_into_ring(std::size_t bytes, ChunkHeader header) {
  const auto room = ring_->make_room(bytes + kMaxPadding);
  if (!room)
    return Error{ErrorCode::kIncomplete, "a chunk is larger than " + path_ + " may become"};
  if (room->made_way) {
    const ChunkHeader free = free_header(room->at, room->until, ring_->gone_until_ns());
    if (auto status = write_at(room->at, std::as_bytes(std::span(&free, 1))); !status)
      return status;
  }
  if (ring_->lapped()) {
    bytes = finish_chunk(bytes, header, room->at);
    const ChunkHeader rest = free_header(room->at + bytes, room->until, ring_->gone_until_ns());
    std::memcpy(packed_.data() + bytes, &rest, sizeof rest);
    const std::span whole(packed_.data(), bytes + sizeof rest);
    for (const auto part : {whole.subspan(sizeof header), whole.first(sizeof header)}) {
      const std::uint64_t at = room->at + static_cast<std::uint64_t>(part.data() - whole.data());
      if (auto status = write_at(at, part); !status) return status;
    }
  } else {
    const std::uint64_t before = end_;
    if (auto status = write_last(bytes, header); !status) return status;
    bytes = end_ - before;
  }
  if (ring_->took(bytes, header.last_ns)) identities_.begin_group();
  return Nothing{};
}

/// A recording of bounded size must be a file; any other may be a pipe.
Status Writer::write_at(std::uint64_t at, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = max_size_
                          ? ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at))
                          : ::write(fd_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed(path_, "write");
    bytes_written_ += static_cast<std::uint64_t>(n);
    at += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return Nothing{};
}

}  // namespace whystall::recording
