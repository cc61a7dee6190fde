// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "recording/reader.h"
#include "recording/writer.h"
#include "support/recording_file.h"

namespace whystall::recording {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::make_record;
using testing::TempDir;
using testing::write_bytes;

/// A small file of four chunks, as the writer makes it, and where each chunk begins.
class DamagedRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    auto writer = Writer::create(path_);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->add_meta(R"({"whystall":"test"})").ok());
    for (std::uint64_t part = 0; part < 2; part++) {
      starts_.push_back(writer->bytes_written());
      for (std::uint64_t i = 0; i < 5; i++) {
        ASSERT_TRUE(
            writer->add_record(bytes_of(make_record<wst_exit>(WST_EXIT, part * 10 + i))).ok());
      }
      ASSERT_TRUE(writer->flush().ok());
    }
    starts_.push_back(writer->bytes_written());
    ASSERT_TRUE(writer->add_meta(R"({"end_ns":7})").ok());
    starts_.insert(starts_.begin(), sizeof(FileHeader));
    whole_ = testing::read_bytes(path_);
    whole_chunks_ = chunks_of(whole_).chunks;
    ASSERT_EQ(whole_chunks_.size(), 4u);
  }

  struct Read {
    bool opened = false;
    std::vector<std::vector<std::byte>> chunks;
    ReadStats stats;
  };
  Read chunks_of(const Bytes& bytes) {
    write_bytes(path_, bytes);
    auto reader = Reader::open(path_);
    if (!reader.ok()) return {};
    Read read{true, {}, {}};
    while (auto chunk = reader->next()) read.chunks.push_back(std::move(chunk->bytes));
    read.stats = reader->stats();
    return read;
  }

  /// The chunk that holds byte `at` of the file.
  std::size_t chunk_at(std::size_t at) const {
    return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), at) -
                                    starts_.begin()) -
           1;
  }
  std::size_t offset_in_header(std::size_t at) const { return at - starts_[chunk_at(at)]; }

  TempDir dir_;
  const std::string path_ = dir_.file("a.wst");
  Bytes whole_;
  std::vector<std::vector<std::byte>> whole_chunks_;
  std::vector<std::size_t> starts_;
};

TEST_F(DamagedRecording, CutAnywhereReadsUpToItsLastWholeChunk) {
  for (std::size_t length = 0; length < whole_.size(); length++) {
    const Read read =
        chunks_of(Bytes(whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(length)));
    ASSERT_EQ(read.opened, length >= sizeof(FileHeader)) << length;
    if (!read.opened) continue;
    const bool between = std::find(starts_.begin(), starts_.end(), length) != starts_.end();
    const std::size_t wanted =
        between ? static_cast<std::size_t>(std::find(starts_.begin(), starts_.end(), length) -
                                           starts_.begin())
                : chunk_at(length);
    ASSERT_EQ(read.chunks.size(), wanted) << length;
    for (std::size_t i = 0; i < wanted; i++) EXPECT_EQ(read.chunks[i], whole_chunks_[i]) << length;
    EXPECT_EQ(read.stats.cut, !between) << length;
    EXPECT_EQ(read.stats.damaged_chunks, 0u) << length;
  }
}

TEST_F(DamagedRecording, AFlippedPayloadByteCostsThatChunkOnly) {
  for (std::size_t at = sizeof(FileHeader); at < whole_.size(); at++) {
    if (offset_in_header(at) < sizeof(ChunkHeader)) continue;
    Bytes bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0xff);
    const Read read = chunks_of(bytes);
    auto wanted = whole_chunks_;
    wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(chunk_at(at)));
    EXPECT_EQ(read.chunks, wanted) << at;
    EXPECT_EQ(read.stats.damaged_chunks, 1u) << at;
    EXPECT_FALSE(read.stats.cut) << at;
  }
}

TEST_F(DamagedRecording, AFlippedByteNeverYieldsBytesThatWereNotWritten) {
  for (std::size_t at = 0; at < whole_.size(); at++) {
    for (const int mask : {0xff, 0x01, 0x80}) {
      Bytes bytes = whole_;
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      const Read read = chunks_of(bytes);
      for (const auto& chunk : read.chunks) {
        EXPECT_NE(std::find(whole_chunks_.begin(), whole_chunks_.end(), chunk), whole_chunks_.end())
            << "byte " << at << ", offset " << offset_in_header(at) << " of a chunk's header, mask "
            << mask;
      }
      for (std::size_t i = 0; read.opened && at >= sizeof(FileHeader) && i < chunk_at(at); i++) {
        ASSERT_GT(read.chunks.size(), i);
        EXPECT_EQ(read.chunks[i], whole_chunks_[i]) << "the chunks before it are read";
      }
    }
  }
}

TEST_F(DamagedRecording, AMissingChunkIsNeverPassedOverInSilence) {
  for (std::size_t at = sizeof(FileHeader); at < whole_.size(); at++) {
    Bytes bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0xff);
    const Read read = chunks_of(bytes);
    const bool noticed =
        read.stats.damaged_chunks + read.stats.unknown_chunks > 0 || read.stats.cut;
    EXPECT_TRUE(noticed || read.chunks == whole_chunks_) << at;
  }
}

}  // namespace
}  // namespace whystall::recording
