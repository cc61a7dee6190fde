// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "abi/events.h"
#include "recording/format.h"

namespace whystall::testing {

using Bytes = std::vector<char>;

/// A directory that lives as long as the test.
class TempDir {
 public:
  TempDir() {
    std::string name = ::testing::TempDir() + "whystall-XXXXXX";
    if (mkdtemp(name.data())) path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline Bytes read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, std::span<const char> bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline void append(Bytes& to, std::string_view text) {
  const std::size_t at = to.size();
  to.resize(at + text.size());
  if (!text.empty()) std::memcpy(to.data() + at, text.data(), text.size());
}
template <typename T>
  requires std::is_trivially_copyable_v<T> && (!std::is_convertible_v<T, std::string_view>)
void append(Bytes& to, const T& value) {
  append(to, std::string_view(reinterpret_cast<const char*>(&value), sizeof value));
}

template <typename Record>
Record make_record(std::uint8_t kind, std::uint64_t ts = 0) {
  Record record{};
  record.h.size = sizeof record;
  record.h.kind = kind;
  record.h.ts = ts;
  return record;
}

template <typename Record>
std::span<const std::byte> bytes_of(const Record& record) {
  return std::as_bytes(std::span(&record, 1));
}

inline Bytes file_header(std::uint16_t major = recording::kMajor,
                         std::uint16_t minor = recording::kMinor) {
  Bytes bytes;
  append(bytes, recording::FileHeader{recording::kMagic, major, minor, 0});
  return bytes;
}

/// An uncompressed chunk with the right checksum.
inline void append_chunk(Bytes& to, std::uint16_t chunk_class, std::span<const char> payload) {
  recording::ChunkHeader header{};
  header.magic = recording::kChunkMagic;
  header.chunk_class = chunk_class;
  header.stored_bytes = header.raw_bytes = static_cast<std::uint32_t>(payload.size());
  header.count = 1;
  header.checksum = recording::chunk_checksum(header, std::as_bytes(payload));
  append(to, header);
  append(to, std::string_view(payload.data(), payload.size()));
}
inline void append_meta(Bytes& to, std::string_view json) {
  append_chunk(to, static_cast<std::uint16_t>(recording::ChunkClass::kMeta), json);
}
inline void append_events(Bytes& to, std::span<const char> records) {
  append_chunk(to, static_cast<std::uint16_t>(recording::ChunkClass::kEvents), records);
}

}  // namespace whystall::testing
