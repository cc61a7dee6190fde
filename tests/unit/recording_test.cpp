// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "recording/reader.h"
#include "recording/writer.h"
#include "support/recording_file.h"

namespace whystall::recording {
namespace {

using testing::append;
using testing::append_chunk;
using testing::append_events;
using testing::append_meta;
using testing::Bytes;
using testing::bytes_of;
using testing::file_header;
using testing::make_record;
using testing::TempDir;
using testing::write_bytes;

class RecordingFile : public ::testing::Test {
 protected:
  Reader open_written(const Bytes& bytes) {
    write_bytes(path_, bytes);
    auto reader = Reader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.error().text;
    return std::move(*reader);
  }
  std::string refusal(const Bytes& bytes) {
    write_bytes(path_, bytes);
    const auto reader = Reader::open(path_);
    if (reader.ok()) return "it was accepted";
    EXPECT_EQ(reader.error().code, ErrorCode::kUnreadable);
    return reader.error().text;
  }
  static std::string text_of(const Chunk& chunk) {
    return {reinterpret_cast<const char*>(chunk.bytes.data()), chunk.bytes.size()};
  }

  TempDir dir_;
  const std::string path_ = dir_.file("a.wst");
};

TEST_F(RecordingFile, GivesBackWhatWasWritten) {
  auto writer = Writer::create(path_);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->add_meta(R"({"a":1})").ok());
  auto exit = make_record<wst_exit>(WST_EXIT, 5);
  exit.tid = 42;
  auto loss = make_record<wst_loss>(WST_LOSS, 3);
  loss.count = 9;
  ASSERT_TRUE(writer->add_record(bytes_of(exit)).ok());
  ASSERT_TRUE(writer->add_record(bytes_of(loss)).ok());
  ASSERT_TRUE(writer->add_meta(R"({"b":2})").ok());
  EXPECT_EQ(writer->records(), 2u);
  EXPECT_EQ(writer->bytes_written(), testing::read_bytes(path_).size());

  auto reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  auto first = reader->next(), events = reader->next(), last = reader->next();
  ASSERT_TRUE(first && events && last);
  EXPECT_FALSE(reader->next());
  EXPECT_EQ(first->chunk_class, ChunkClass::kMeta);
  EXPECT_EQ(text_of(*first), R"({"a":1})");
  EXPECT_EQ(text_of(*last), R"({"b":2})");
  EXPECT_EQ(events->chunk_class, ChunkClass::kEvents);
  EXPECT_EQ(events->count, 2u);
  std::vector<std::byte> wanted;
  for (auto bytes : {bytes_of(exit), bytes_of(loss)})
    wanted.insert(wanted.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(events->bytes, wanted);
  EXPECT_EQ(reader->stats().chunks, 3u);
  EXPECT_EQ(reader->stats().damaged_chunks, 0u);
  EXPECT_FALSE(reader->stats().cut);
}

TEST_F(RecordingFile, SplitsManyRecordsIntoChunksAndLosesNone) {
  constexpr std::uint32_t kRecords = 30'000;
  {
    auto writer = Writer::create(path_);
    ASSERT_TRUE(writer.ok());
    for (std::uint32_t i = 0; i < kRecords; i++) {
      auto record = make_record<wst_exit>(WST_EXIT, i);
      record.tid = i;
      ASSERT_TRUE(writer->add_record(bytes_of(record)).ok());
    }
    ASSERT_TRUE(writer->flush().ok());
  }
  auto reader = Reader::open(path_);
  ASSERT_TRUE(reader.ok());
  std::uint32_t next = 0;
  while (auto chunk = reader->next()) {
    EXPECT_TRUE(for_each_record(chunk->bytes, [&](std::span<const std::byte> bytes) {
      wst_exit record;
      std::memcpy(&record, bytes.data(), sizeof record);
      EXPECT_EQ(record.tid, next++);
    }));
  }
  EXPECT_EQ(next, kRecords);
  EXPECT_GT(reader->stats().chunks, 1u);
}

TEST_F(RecordingFile, IsForItsOwnerAloneWhateverTheUmask) {
  const mode_t before = umask(0);
  const auto writer = Writer::create(path_);
  umask(before);
  ASSERT_TRUE(writer.ok());
  struct stat info{};
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(RecordingFile, IsNotWrittenThroughALink) {
  const std::string aim = dir_.file("aim");
  write_bytes(aim, Bytes{'x'});
  std::filesystem::create_symlink(aim, path_);
  EXPECT_FALSE(Writer::create(path_).ok());
  EXPECT_EQ(testing::read_bytes(aim), Bytes{'x'});
}

TEST_F(RecordingFile, NamesTheFileThatCannotBeCreated) {
  const auto writer = Writer::create(dir_.file("none/a.wst"));
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, ErrorCode::kIncomplete);
  EXPECT_NE(writer.error().text.find("none/a.wst: No such file"), std::string::npos);
}

TEST_F(RecordingFile, ThatWasNotThereGoesIfNothingIsWritten) {
  {
    auto writer = Writer::create(path_);
    ASSERT_TRUE(writer.ok());
    const Writer moved = std::move(*writer);
    EXPECT_TRUE(std::filesystem::exists(path_)) << "it can be written";
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(RecordingFile, ThatWasThereStaysUntilSomethingIsWritten) {
  const Bytes before(100'000, 'x');
  write_bytes(path_, before);
  EXPECT_TRUE(Writer::create(path_).ok());
  EXPECT_EQ(testing::read_bytes(path_), before);

  auto writer = Writer::create(path_);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->add_meta("{}").ok());
  EXPECT_EQ(writer->bytes_written(), testing::read_bytes(path_).size()) << "nothing else is in it";
}

TEST_F(RecordingFile, OfBoundedSizeMustBeAFile) {
  const auto writer = Writer::create("/dev/null", kMinMaxSize);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.error().code, ErrorCode::kUsage);
  EXPECT_TRUE(Writer::create("/dev/null").ok());
}

TEST_F(RecordingFile, RefusesWhatIsNoRecording) {
  const std::string want = path_ + " is not a whystall recording";
  EXPECT_EQ(refusal({}), want);
  EXPECT_EQ(refusal({'w', 'h', 'y'}), want);
  EXPECT_EQ(refusal(Bytes(4096, 'A')), want);
  EXPECT_EQ(refusal(Bytes(16, '\0')), want);
  EXPECT_FALSE(Reader::open(dir_.file("missing")).ok());
  EXPECT_FALSE(Reader::open(dir_.file("")).ok()) << "a directory";
}

TEST_F(RecordingFile, OfAnotherMinorVersionIsRead) {
  Bytes bytes = file_header(kMajor, 99);
  append_meta(bytes, "{}");
  Reader reader = open_written(bytes);
  const auto chunk = reader.next();
  ASSERT_TRUE(chunk);
  EXPECT_EQ(text_of(*chunk), "{}");
}

TEST_F(RecordingFile, OfAnotherMajorVersionIsRefusedInOneSentence) {
  EXPECT_EQ(refusal(file_header(kMajor + 1)),
            path_ + " has format 2, this whystall reads format 1");
  EXPECT_EQ(refusal(file_header(0)), path_ + " has format 0, this whystall reads format 1");
}

TEST_F(RecordingFile, SkipsAndCountsChunksOfAnUnknownClass) {
  Bytes bytes = file_header();
  append_chunk(bytes, 77, Bytes{'?', '?'});
  append_meta(bytes, "{}");
  append_chunk(bytes, 0, Bytes{});
  Reader reader = open_written(bytes);
  const auto chunk = reader.next();
  ASSERT_TRUE(chunk);
  EXPECT_EQ(text_of(*chunk), "{}");
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.stats().unknown_chunks, 2u);
  EXPECT_EQ(reader.stats().damaged_chunks, 0u);
}

TEST_F(RecordingFile, DoesNotBelieveLengthsThatNoWriterMakes) {
  for (const std::uint32_t length : {0xffffffffu, 0xfffffff0u, 0x80000000u, kMaxChunkBytes + 1}) {
    for (const std::size_t field :
         {offsetof(ChunkHeader, stored_bytes), offsetof(ChunkHeader, raw_bytes)}) {
      Bytes bytes = file_header();
      append_meta(bytes, "{}");
      std::memcpy(bytes.data() + sizeof(FileHeader) + field, &length, sizeof length);
      Reader reader = open_written(bytes);
      EXPECT_FALSE(reader.next()) << length;
      EXPECT_EQ(reader.stats().damaged_chunks, 1u);
      EXPECT_TRUE(reader.stats().cut);
    }
  }
}

TEST_F(RecordingFile, DoesNotBelieveALengthBeyondItsEnd) {
  Bytes bytes = file_header();
  append_meta(bytes, "{}");
  std::memcpy(bytes.data() + sizeof(FileHeader) + offsetof(ChunkHeader, stored_bytes),
              &kMaxChunkBytes, 4);
  Reader reader = open_written(bytes);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.stats().cut);
}

TEST(ForEachRecord, EndsAtARecordWhoseSizeDoesNotFit) {
  auto record = make_record<wst_exit>(WST_EXIT);
  for (const int size : {0, 1, 15, 25, 0xffff}) {
    auto bad = record;
    bad.h.size = static_cast<std::uint16_t>(size);
    Bytes bytes;
    append(bytes, record);
    append(bytes, bad);
    int seen = 0;
    EXPECT_FALSE(for_each_record(std::as_bytes(std::span(bytes)), [&](auto) { seen++; })) << size;
    EXPECT_EQ(seen, 1) << size;
  }
}

TEST(ForEachRecord, EndsAtTheRestOfARecord) {
  Bytes bytes;
  append(bytes, make_record<wst_exit>(WST_EXIT));
  const auto all = std::as_bytes(std::span(bytes));
  for (std::size_t n = 1; n < all.size(); n++) {
    EXPECT_FALSE(for_each_record(all.first(n), [](auto) { FAIL(); })) << n;
  }
  EXPECT_TRUE(for_each_record(all.first(0), [](auto) { FAIL(); }));
}

}  // namespace
}  // namespace whystall::recording
