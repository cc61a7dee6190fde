// SPDX-License-Identifier: Apache-2.0
#include "load/load.h"

#include <gtest/gtest.h>

#include "recording/writer.h"
#include "support/recording_builder.h"
#include "support/recording_file.h"

namespace whystall::load {
namespace {

using testing::append;
using testing::append_events;
using testing::append_meta;
using testing::Bytes;
using testing::bytes_of;
using testing::make_record;
using testing::set_text;
using testing::TempDir;

constexpr model::FileKey kKey{11, 22, 33};

/// A file record with its path, and `extra` bytes more than its fields need.
Bytes file_record(std::string_view leaf_first, std::uint16_t flags = 0) {
  auto record = make_record<wst_file>(WST_FILE);
  record.h.size = static_cast<std::uint16_t>(sizeof record + leaf_first.size());
  record.ino = kKey.ino;
  record.dev = kKey.dev;
  record.generation = kKey.generation;
  record.flags = flags;
  record.path_len = static_cast<std::uint16_t>(leaf_first.size());
  set_text(record.fs_type, "ext4");
  Bytes bytes;
  append(bytes, record);
  append(bytes, leaf_first);
  return bytes;
}

class Load : public ::testing::Test {
 protected:
  model::Recording load_bytes(const Bytes& bytes) {
    testing::write_bytes(path_, bytes);
    auto recording = load_recording(path_);
    EXPECT_TRUE(recording.ok());
    return std::move(recording.value());
  }
  model::Recording load_events(const Bytes& records) {
    Bytes bytes = testing::file_header();
    append_events(bytes, records);
    return load_bytes(bytes);
  }
  std::string path_of(std::string_view leaf_first, std::uint16_t flags = 0) {
    const auto recording = load_events(file_record(leaf_first, flags));
    EXPECT_EQ(recording.stats.bad_records, 0u);
    const auto file = recording.files.find(kKey);
    return file == recording.files.end() ? "no file" : file->second.path;
  }

  TempDir dir_;
  const std::string path_ = dir_.file("a.wst");
};

TEST_F(Load, ReadsWhatAWriterWrote) {
  {
    auto writer = recording::Writer::create(path_);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(
        writer
            ->add_meta(R"({"whystall":"1.2","kernel":"6.1","host":"h","profile":"p","clock":"c",
      "stopped_by":"s","driver_library":"l","start_ns":100,"end_ns":900,"wall_start_ns":5,"whystall_pid":77,
      "api_complete":false,"api_symbols":["a","b"],"targets":[{"pid":4,"comm":"c","command":"c -x"}]})")
            .ok());
    auto task = make_record<wst_task>(WST_TASK, 200);
    task.tid = 5;
    task.tgid = 4;
    task.flags = WST_TASK_TARGET;
    set_text(task.comm, "a-name-of-16-chr");
    ASSERT_TRUE(writer->add_record(bytes_of(task)).ok());
    for (std::uint64_t ts : {700, 300}) {
      auto wait = make_record<wst_wait>(WST_WAIT, ts);
      wait.tid = 5;
      ASSERT_TRUE(writer->add_record(bytes_of(wait)).ok());
      ASSERT_TRUE(writer->add_record(bytes_of(make_record<wst_api>(WST_API, ts))).ok());
      ASSERT_TRUE(writer->add_record(bytes_of(make_record<wst_slice>(WST_SLICE, ts))).ok());
    }
    ASSERT_TRUE(writer->add_record(bytes_of(make_record<wst_loss>(WST_LOSS))).ok());
    ASSERT_TRUE(writer->flush().ok());
  }
  const auto loaded = load_recording(path_);
  ASSERT_TRUE(loaded.ok());
  const model::Recording& r = loaded.value();
  EXPECT_EQ(r.meta.whystall, "1.2");
  EXPECT_EQ(r.meta.whystall_pid, 77u);
  EXPECT_EQ(r.meta.api_symbols, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(r.meta.api_complete);
  ASSERT_EQ(r.meta.targets.size(), 1u);
  EXPECT_EQ(r.meta.targets[0].command, "c -x");
  EXPECT_EQ(r.window().lo, 100);
  EXPECT_EQ(r.window().hi, 900);
  EXPECT_FALSE(r.stats.no_end);
  EXPECT_EQ(r.stats.records, 8u);
  EXPECT_EQ(r.stats.bad_records + r.stats.unknown_records, 0u);
  ASSERT_TRUE(r.tasks.contains(5));
  EXPECT_EQ(r.tasks.at(5).comm, "a-name-of-16-chr");
  EXPECT_TRUE(r.tasks.at(5).target);
  EXPECT_FALSE(r.tasks.at(5).kernel);
  ASSERT_EQ(r.waits.size(), 2u);
  ASSERT_EQ(r.api.size(), 2u);
  ASSERT_EQ(r.slices.size(), 2u);
  EXPECT_EQ(r.losses.size(), 1u);
  EXPECT_EQ(r.waits[0].h.ts, 300u) << "sorted by time";
  EXPECT_EQ(r.api[0].h.ts, 300u);
  EXPECT_EQ(r.slices[0].h.ts, 300u);
}

TEST_F(Load, LaterMetaKeysWin) {
  Bytes bytes = testing::file_header();
  append_meta(bytes, R"({"start_ns":10,"end_ns":20,"host":"old"})");
  append_meta(bytes, R"({"end_ns":90})");
  const auto r = load_bytes(bytes);
  EXPECT_EQ(r.meta.start_ns, 10);
  EXPECT_EQ(r.meta.end_ns, 90);
  EXPECT_EQ(r.meta.host, "old");
}

TEST_F(Load, ALaterListOfSourcesReplacesButStaysTested) {
  Bytes bytes = testing::file_header();
  append_meta(bytes, R"({"sources":[
      {"name":"waits","state":"live","why":"","from_ns":10,"until_ns":0,"tested":true},
      {"name":"ends","state":"live","why":"","from_ns":10}, 7]})");
  append_meta(bytes, R"({"sources":[
      {"name":"waits","state":"missing","why":"over the budget","from_ns":10,"until_ns":50},
      {"name":"ends","state":"live","why":"","from_ns":-4,"until_ns":"late","tested":1}]})");
  const auto sources = load_bytes(bytes).meta.sources;
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].state, "missing");
  EXPECT_EQ(sources[0].why, "over the budget");
  EXPECT_EQ(sources[0].from_ns, 10);
  EXPECT_EQ(sources[0].until_ns, 50);
  EXPECT_TRUE(sources[0].tested);
  EXPECT_FALSE(sources[1].tested);
  EXPECT_EQ(sources[1].from_ns, 0) << "before the machine was there";
  EXPECT_EQ(sources[1].until_ns, 0);
}

TEST_F(Load, CountsRecordsOfUnknownKind) {
  Bytes records;
  append(records, make_record<wst_exit>(200));
  append(records, make_record<wst_exit>(0));
  append(records, make_record<wst_wait>(WST_WAIT));
  const auto r = load_events(records);
  EXPECT_EQ(r.stats.unknown_records, 2u);
  EXPECT_EQ(r.stats.bad_records, 0u);
  EXPECT_EQ(r.waits.size(), 1u);
}

TEST_F(Load, CountsRecordsThatAreTooShortAsBad) {
  Bytes records;
  for (const std::uint8_t kind : {WST_TASK, WST_WAIT, WST_SLICE, WST_FILE, WST_API, WST_LOSS}) {
    append(records, make_record<wst_exit>(kind));
  }
  append(records, make_record<wst_wait>(WST_WAIT));
  const auto r = load_events(records);
  EXPECT_EQ(r.stats.bad_records, 6u);
  EXPECT_EQ(r.stats.records, 7u);
  EXPECT_EQ(r.waits.size(), 1u) << "what comes after them is read";
  EXPECT_TRUE(r.tasks.empty() && r.files.empty() && r.slices.empty() && r.api.empty() &&
              r.losses.empty());
}

TEST_F(Load, ReadsTheKnownPartOfLongerRecords) {
  auto wait = make_record<wst_wait>(WST_WAIT, 5);
  wait.h.size = sizeof wait + 24;
  wait.tid = 9;
  Bytes records;
  append(records, wait);
  append(records, std::string(24, '\x7f'));
  append(records, make_record<wst_api>(WST_API));
  const auto r = load_events(records);
  ASSERT_EQ(r.waits.size(), 1u);
  EXPECT_EQ(r.waits[0].tid, 9u);
  EXPECT_EQ(r.api.size(), 1u);
  EXPECT_EQ(r.stats.bad_records, 0u);
}

TEST_F(Load, CountsAChunkWhoseRecordsDoNotFit) {
  auto bad = make_record<wst_exit>(WST_EXIT);
  bad.h.size = 3;
  Bytes records;
  append(records, make_record<wst_wait>(WST_WAIT));
  append(records, bad);
  const auto r = load_events(records);
  EXPECT_EQ(r.stats.bad_records, 1u);
  EXPECT_EQ(r.waits.size(), 1u);
}

TEST_F(Load, JoinsPathsFromTheRootToTheLeaf) {
  using namespace std::string_view_literals;
  EXPECT_EQ(path_of("0017.jpg\0train\0data\0"sv), "/data/train/0017.jpg");
  EXPECT_EQ(path_of("file\0"sv), "/file");
  EXPECT_EQ(path_of("leaf\0dir"sv), "/dir/leaf") << "the last one without its end";
  EXPECT_EQ(path_of(""sv), "/");
  EXPECT_EQ(path_of("leaf\0dir\0"sv, WST_PATH_TRUNCATED), "…/dir/leaf");
}

TEST_F(Load, KeepsThatAFileWasDeleted) {
  using namespace std::string_view_literals;
  const auto r = load_events(file_record("x\0"sv, WST_PATH_DELETED));
  EXPECT_TRUE(r.files.at(kKey).deleted);
  EXPECT_FALSE(r.files.at(kKey).truncated);
  EXPECT_EQ(r.files.at(kKey).fs_type, "ext4");
}

TEST_F(Load, RejectsAPathThatIsLongerThanItsRecord) {
  for (const std::uint16_t length : {std::uint16_t{3}, std::uint16_t{0xffff}}) {
    Bytes records = file_record("ab");
    std::memcpy(records.data() + offsetof(wst_file, path_len), &length, sizeof length);
    append(records, make_record<wst_wait>(WST_WAIT));
    const auto r = load_events(records);
    EXPECT_EQ(r.stats.bad_records, 1u) << length;
    EXPECT_TRUE(r.files.empty()) << length;
    EXPECT_EQ(r.waits.size(), 1u) << length;
  }
}

TEST_F(Load, ARecordingThatWasNotEndedLastsAsLongAsItsRecords) {
  Bytes bytes = testing::file_header(), records;
  append_meta(bytes, R"({"start_ns":1000})");
  append(records, make_record<wst_wait>(WST_WAIT, 5000));
  append(records, make_record<wst_api>(WST_API, 7000));
  append_events(bytes, records);
  const auto r = load_bytes(bytes);
  EXPECT_TRUE(r.stats.no_end);
  EXPECT_EQ(r.window().lo, 1000);
  EXPECT_EQ(r.window().hi, 7000);
}

TEST_F(Load, AWindowThatEndsBeforeItStartsIsNotBelieved) {
  for (const char* meta :
       {R"({"start_ns":1000,"end_ns":5})", R"({"start_ns":-9000000000000000000,"end_ns":5})",
        R"({"end_ns":9000000000000000000})", R"({"start_ns":18446744073709551615})", "{}"}) {
    Bytes bytes = testing::file_header();
    append_meta(bytes, meta);
    const auto r = load_bytes(bytes);
    EXPECT_TRUE(r.stats.no_end) << meta;
    EXPECT_GE(r.window().hi, r.window().lo) << meta;
    EXPECT_EQ(r.window().length(), 0) << meta;
  }
}

}  // namespace
}  // namespace whystall::load
