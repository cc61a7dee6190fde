// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "ledger/ledger.h"
#include "load/load.h"
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
