// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "recording/format.h"

namespace whystall::fuzz {

/// Chunks are compressed and have checksums, which a fuzzer cannot guess. So an input is either a
/// file as it stands, after a byte kRaw, or after any other byte a list of chunks {class, length,
/// bytes} that become a file with the right checksums.
constexpr std::uint8_t kRaw = 0, kChunks = 1;

struct ChunkHead {
  std::uint16_t chunk_class;
  std::uint16_t reserved;
  std::uint32_t bytes;
};
static_assert(sizeof(ChunkHead) == 8);

template <typename T>
void append(std::vector<std::uint8_t>& to, const T& value) {
  const std::size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}

inline void append_bytes(std::vector<std::uint8_t>& to, std::span<const std::uint8_t> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

inline std::vector<std::uint8_t> file_of(std::span<const std::uint8_t> input) {
  if (input.empty()) return {};
  const bool raw = input[0] == kRaw;
  input = input.subspan(1);
  if (raw) return {input.begin(), input.end()};
  std::vector<std::uint8_t> file;
  append(file, recording::FileHeader{recording::kMagic, recording::kMajor, recording::kMinor, 0});
  while (input.size() >= sizeof(ChunkHead)) {
    ChunkHead head;
    std::memcpy(&head, input.data(), sizeof head);
    input = input.subspan(sizeof head);
    const auto bytes = input.first(std::min<std::size_t>(head.bytes, input.size()));
    input = input.subspan(bytes.size());
    recording::ChunkHeader chunk{};
    chunk.magic = recording::kChunkMagic;
    chunk.chunk_class = head.chunk_class;
    chunk.stored_bytes = chunk.raw_bytes = static_cast<std::uint32_t>(bytes.size());
    chunk.count = 1;
    chunk.checksum = recording::chunk_checksum(chunk, std::as_bytes(bytes));
    append(file, chunk);
    append_bytes(file, bytes);
  }
  return file;
}

}  // namespace whystall::fuzz
