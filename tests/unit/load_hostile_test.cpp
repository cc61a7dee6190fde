// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <zstd.h>

#include <random>

#include "ledger/ledger.h"
#include "load/load.h"
#include "load/summary.h"
#include "output/info.h"
#include "output/output.h"
#include "support/recording_file.h"

namespace whystall::load {
namespace {

using testing::append;
using testing::append_events;
using testing::append_meta;
using testing::Bytes;
using testing::TempDir;

class HostileFile : public ::testing::Test {
 protected:
  model::Recording load_bytes(const Bytes& bytes) {
    testing::write_bytes(path_, bytes);
    auto recording = load_recording(path_);
    EXPECT_TRUE(recording.ok());
    return std::move(recording.value());
  }
  model::Recording load_meta(std::string_view json) {
    Bytes bytes = testing::file_header();
    append_meta(bytes, json);
    append_meta(bytes, R"({"profile":"still read"})");
    return load_bytes(bytes);
  }

  TempDir dir_;
  const std::string path_ = dir_.file("a.wst");
};

TEST_F(HostileFile, BrokenMetaIsCountedAndTheRestIsRead) {
  for (const char* json :
       {"", "{", "nul", "[1]", "\"text\"", "17", "{\"host\":\"\xff\xfe\"}", "{\"a\":1}}",
        "{\"targets\":[{\"pid\":\"four\"}]}", "{\"targets\":[{\"comm\":7}]}"}) {
    const auto r = load_meta(json);
    EXPECT_EQ(r.stats.bad_records, 1u) << json;
    EXPECT_EQ(r.meta.profile, "still read") << json;
  }
}

TEST_F(HostileFile, MetaOfWrongTypesLeavesTheDefaults) {
  const auto r =
      load_meta(R"({"whystall":1,"kernel":null,"host":[],"profile":{},"clock":true,"stopped_by":2.5,
    "driver_library":false,"start_ns":"soon","end_ns":1.5,"wall_start_ns":null,"whystall_pid":-4,
    "api_complete":"yes","api_symbols":"all","targets":{"pid":3}})");
  EXPECT_EQ(r.stats.bad_records, 0u);
  EXPECT_EQ(r.meta.host, "");
  EXPECT_EQ(r.meta.start_ns, 0);
  EXPECT_EQ(r.meta.end_ns, 0);
  EXPECT_EQ(r.meta.whystall_pid, 0u);
  EXPECT_TRUE(r.meta.api_complete);
  EXPECT_TRUE(r.meta.api_symbols.empty());
  EXPECT_TRUE(r.meta.targets.empty());
}

TEST_F(HostileFile, SkipsTargetsAndSymbolsOfWrongType) {
  const auto r = load_meta(R"({"api_symbols":["a",2,null],"targets":[1,"x",{"pid":8}]})");
  EXPECT_EQ(r.meta.api_symbols, (std::vector<std::string>{"a", "", ""}))
      << "places stay: records index them";
  ASSERT_EQ(r.meta.targets.size(), 1u);
  EXPECT_EQ(r.meta.targets[0].pid, 8u);
}

TEST_F(HostileFile, DeeplyNestedMetaDoesNotOverflowTheStack) {
  constexpr std::size_t kDepth = 200'000;
  EXPECT_EQ(load_meta(std::string(kDepth, '[')).stats.bad_records, 1u);
  const auto closed =
      load_meta("{\"a\":" + std::string(kDepth, '[') + std::string(kDepth, ']') + "}");
  EXPECT_EQ(closed.stats.bad_records, 0u);
}

// Joining is quadratic in the number of names: 64 KiB of empty ones cost a third of a second, and a
// chunk of a few KiB unpacks to a thousand such records.
TEST_F(HostileFile, RejectsAPathLongerThanTheTracerWrites) {
  auto record = testing::make_record<wst_file>(WST_FILE);
  constexpr std::uint16_t kNames = 60'000;
  record.h.size = sizeof record + kNames;
  record.path_len = kNames;
  Bytes records, bytes = testing::file_header();
  append(records, record);
  records.insert(records.end(), kNames, '\0');
  append_events(bytes, records);
  const auto r = load_bytes(bytes);
  EXPECT_EQ(r.stats.bad_records, 1u);
  EXPECT_TRUE(r.files.empty());
}

/// Records whose headers fit and whose fields are anything.
Bytes random_records(std::mt19937_64& random) {
  constexpr std::uint16_t kSizes[] = {16, 24, 48, 56, 64, 72, 100, 136, 160};
  Bytes bytes;
  const std::size_t count = random() % 12;
  for (std::size_t i = 0; i < count; i++) {
    wst_hdr header{};
    header.size = kSizes[random() % std::size(kSizes)];
    header.kind = static_cast<std::uint8_t>(random() % 10);
    header.ts = random() % 4 ? random() % 1'000'000'000 : random();
    append(bytes, header);
    // Small bytes make fields that mean something more often than whole words do.
    const bool small = random() % 2;
    for (std::size_t k = sizeof header; k < header.size; k++) {
      bytes.push_back(static_cast<char>(small ? (random() % 3 ? 0 : random() % 8) : random()));
    }
  }
  return bytes;
}

/// What a few bytes of a file can unpack to.
Bytes packed_events(const Bytes& records) {
  Bytes packed(ZSTD_compressBound(records.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), records.data(), records.size(), 1));
  recording::ChunkHeader header{};
  header.magic = recording::kChunkMagic;
  header.chunk_class = static_cast<std::uint16_t>(recording::ChunkClass::kEvents);
  header.flags = recording::kChunkZstd;
  header.stored_bytes = static_cast<std::uint32_t>(packed.size());
  header.raw_bytes = static_cast<std::uint32_t>(records.size());
  header.checksum = recording::chunk_checksum(header, std::as_bytes(std::span(packed)));
  Bytes chunk;
  append(chunk, header);
  chunk.insert(chunk.end(), packed.begin(), packed.end());
  return chunk;
}

TEST_F(HostileFile, WhatTakesTooMuchMemoryIsRefusedInOneSentence) {
  constexpr std::uint64_t kLimit = 64u << 20;
  const auto file = [](const auto& make) {
    Bytes records, bytes = testing::file_header();
    for (std::uint32_t i = 0; i < 20'000; i++) make(records, i);
    const Bytes chunk = packed_events(records);
    for (int i = 0; i < 40; i++) bytes.insert(bytes.end(), chunk.begin(), chunk.end());
    return bytes;
  };
  const auto waits =
      file([](Bytes& to, std::uint32_t) { append(to, testing::make_record<wst_wait>(WST_WAIT)); });
  testing::write_bytes(path_, waits);
  EXPECT_LT(waits.size(), 200'000u) << "for 115 MB of records";
  const auto refused = load_recording(path_, kLimit);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
  EXPECT_EQ(refused.error().text,
            "loading " + path_ +
                " would take more than the 0.1 GiB of memory that it may; record "
                "for a shorter time, or bound the recording with --max-size");
  EXPECT_TRUE(load_recording(path_).ok());

  // The same names again and again take no more than once.
  const auto names = file([](Bytes& to, std::uint32_t i) {
    auto task = testing::make_record<wst_task>(WST_TASK);
    task.tid = i;
    append(to, task);
    auto named = testing::make_record<wst_file>(WST_FILE);
    const std::string path(500, 'p');
    named.h.size = static_cast<std::uint16_t>(sizeof named + path.size());
    named.ino = i;
    named.path_len = static_cast<std::uint16_t>(path.size());
    append(to, named);
    append(to, path);
  });
  testing::write_bytes(path_, names);
  EXPECT_TRUE(load_recording(path_, kLimit).ok());
  EXPECT_FALSE(load_recording(path_, kLimit / 8).ok());
}

TEST_F(HostileFile, MetaLongerThanAWriterMakesIsNotParsed) {
  const auto r = load_meta("{\"a\":\"" + std::string(5u << 20, 'x') + "\"}");
  EXPECT_EQ(r.stats.bad_records, 1u);
  EXPECT_EQ(r.meta.profile, "still read");
}

TEST_F(HostileFile, NoWallClockOverflows) {
  for (const char* wall : {"-9223372036854775808", "9223372036854775807"}) {
    Bytes bytes = testing::file_header();
    append_meta(
        bytes, R"({"start_ns":1000,"end_ns":900000000,"wall_start_ns":)" + std::string(wall) + "}");
    recording::ChunkHeader free{};
    free.magic = recording::kChunkMagic;
    free.chunk_class = static_cast<std::uint16_t>(recording::ChunkClass::kFree);
    free.last_ns = 5000;
    free.checksum = recording::chunk_checksum(free, {});
    append(bytes, free);
    const auto r = load_bytes(bytes);
    EXPECT_EQ(r.stats.dropped_ns, 4000);
    EXPECT_FALSE(output::render_json(ledger::diagnose(r)).empty());
    const auto summary = summarize(path_);
    ASSERT_TRUE(summary.ok());
    EXPECT_FALSE(output::render_info_text(summary.value(), path_).empty());
    EXPECT_FALSE(output::render_info_json(summary.value(), path_).empty());
  }
}

TEST_F(HostileFile, RandomRecordsLoadAndConserveTime) {
  std::mt19937_64 random(20240611);
  for (int i = 0; i < 2'000; i++) {
    Bytes bytes = testing::file_header();
    append_meta(bytes, R"({"start_ns":1000,"end_ns":900000000})");
    append_events(bytes, random_records(random));
    const auto r = load_bytes(bytes);
    EXPECT_EQ(r.stats.damaged_chunks, 0u);
    EXPECT_EQ(ledger::diagnose(r).conservation_error_ns, 0) << "iteration " << i;
  }
}

TEST_F(HostileFile, RandomBytesLoad) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2'000; i++) {
    Bytes payload(random() % 300);
    for (char& c : payload) c = static_cast<char>(random());
    Bytes bytes = testing::file_header();
    if (i % 3 == 0) append_meta(bytes, std::string_view(payload.data(), payload.size()));
    if (i % 3 == 1) append_events(bytes, payload);
    if (i % 3 == 2) bytes.insert(bytes.end(), payload.begin(), payload.end());
    const auto r = load_bytes(bytes);
    const auto& s = r.stats;
    EXPECT_TRUE(payload.empty() || s.bad_records + s.damaged_chunks + s.unknown_records > 0 ||
                s.cut)
        << i;
  }
}

}  // namespace
}  // namespace whystall::load
