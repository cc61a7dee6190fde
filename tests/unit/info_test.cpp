// SPDX-License-Identifier: Apache-2.0
#include "output/info.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "load/summary.h"
#include "output/layout.h"
#include "support/recording_builder.h"
#include "support/recording_file.h"

namespace whystall {
namespace {

using model::Summary;
using testing::append;
using testing::append_chunk;
using testing::append_events;
using testing::append_meta;
using testing::Bytes;
using testing::make_record;
using testing::TempDir;

class Info : public ::testing::Test {
 protected:
  Summary summarize(const Bytes& bytes) {
    testing::write_bytes(path_, bytes);
    auto summary = load::summarize(path_);
    EXPECT_TRUE(summary.ok());
    return summary.value();
  }
  static wst_loss loss(std::uint32_t loss_class, std::uint64_t count, std::uint64_t first,
                       std::uint64_t last) {
    auto r = make_record<wst_loss>(WST_LOSS, 900);
    r.loss_class = loss_class;
    r.count = count;
    r.first_ns = first;
    r.last_ns = last;
    return r;
  }

  TempDir dir_;
  const std::string path_ = dir_.file("a.wst");
};

TEST_F(Info, CountsRecordsByKindAndLossesByClass) {
  Bytes records;
  for (int i = 0; i < 3; i++) append(records, make_record<wst_wait>(WST_WAIT, 200));
  append(records, make_record<wst_api>(WST_API, 700));
  append(records, make_record<wst_exit>(WST_EXIT, 800));
  append(records, make_record<wst_exit>(99, 800));
  append(records, make_record<wst_exit>(WST_WAIT, 800));  // too short for a wait
  append(records, loss(WST_LOST_API, 5, 300, 400));
  append(records, loss(WST_LOST_API, 2, 250, 350));
  append(records, loss(77, 1, 260, 270));
  Bytes bytes = testing::file_header(recording::kMajor, 7);
  append_meta(bytes, R"({"start_ns":100,"stopped_by":"signal","host":"h"})");
  append_events(bytes, records);
  append_chunk(bytes, 55, Bytes{'?'});
  append_meta(bytes, "[]");
  bytes.push_back('x');
  const Summary s = summarize(bytes);
  EXPECT_EQ(s.format_major, 1);
  EXPECT_EQ(s.format_minor, 7);
  EXPECT_EQ(s.file_bytes, bytes.size());
  EXPECT_EQ(s.chunks, 4u);
  EXPECT_GT(s.stored_bytes, records.size());
  EXPECT_EQ(s.records[WST_WAIT], 3u);
  EXPECT_EQ(s.records[WST_API], 1u);
  EXPECT_EQ(s.records[WST_EXIT], 1u);
  EXPECT_EQ(s.records[WST_LOSS], 3u);
  EXPECT_EQ(s.stats.records, 10u);
  EXPECT_EQ(s.stats.unknown_records, 1u);
  EXPECT_EQ(s.stats.bad_records, 2u) << "a short one, and meta that is no object";
  EXPECT_EQ(s.losses[WST_LOST_API].count, 7u);
  EXPECT_EQ(s.losses[WST_LOST_API].first_ns, 250);
  EXPECT_EQ(s.losses[WST_LOST_API].last_ns, 400);
  EXPECT_EQ(s.losses[WST_LOST_WAIT].count, 0u);
  EXPECT_EQ(s.other_losses.count, 1u);
  EXPECT_EQ(s.stats.unknown_chunks, 1u);
  EXPECT_EQ(s.stats.damaged_chunks, 0u);
  EXPECT_TRUE(s.stats.cut);
  EXPECT_TRUE(s.stats.no_end);
  EXPECT_EQ(s.meta.end_ns, 700) << "as long as there are records, as the report has it";
}

TEST_F(Info, TheWallClockIsBelieved) {
  Bytes bytes = testing::file_header();
  append_meta(bytes, R"({"start_ns":1000,"end_ns":9000,"wall_start_ns":1764510000000000000})");
  const Summary s = summarize(bytes);
  EXPECT_EQ(s.meta.wall_start_ns, 1'764'510'000'000'000'000);
  EXPECT_NE(output::render_info_text(s, path_).find("window     2025-11-30T13:40:00.000Z to"),
            std::string::npos);
}

TEST_F(Info, AnUnreadableFileIsAnError) {
  testing::write_bytes(path_, Bytes(100, 'x'));
  const auto summary = load::summarize(path_);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::kUnreadable);
}

TEST_F(Info, TextTellsWhatThereIs) {
  Summary s;
  s.format_major = 1;
  s.format_minor = 1;
  s.file_bytes = 3 << 20;
  s.chunks = 12;
  s.stored_bytes = 1 << 20;
  s.raw_bytes = 4 << 20;
  s.meta.whystall = "0.1.0";
  s.meta.host = "node7";
  s.meta.kernel = "6.1.0";
  s.meta.profile = "lean";
  s.meta.clock = "api";
  s.meta.driver_library = "/usr/lib/libcuda.so.1";
  s.meta.targets = {{4821, "python3", "python3 train.py"}};
  s.meta.stopped_by = "duration";
  s.meta.start_ns = 1'000'000'000;
  s.meta.end_ns = 11'000'000'000;
  s.stats.records = 1'234'567;
  s.records[WST_WAIT] = 1'234'000;
  s.stats.dropped_ns = 50'000'000'000;
  s.losses[WST_LOST_SLICE] = {9, 2'000'000'000, 3'500'000'000};
  const std::string text = output::render_info_text(s, "x.wst");
  for (const char* part :
       {"recording  x.wst\n", "format     1.1, written by whystall 0.1.0\n",
        "host       node7, kernel 6.1.0\n", "target     pid 4821: python3 train.py\n",
        "profile    lean, clock api\n", "driver     /usr/lib/libcuda.so.1\n",
        "window     1970-01-01T00:00:00.000Z to 1970-01-01T00:00:10.000Z, 10.0 s\n",
        "the 50.0 s before it made way (--max-size)\n", "ended by   duration\n",
        "records    1,234,567: 1,234,000 wait\n",
        "chunks     12, 1.0 MiB stored, 4.0 MiB raw (4.0 : 1), file 3.0 MiB\n",
        "lost       9 slice, from 1.00 s to 2.50 s after the window's start\n",
        "damaged    0 chunks, 0 more of unknown classes; not cut\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
}

TEST_F(Info, FitsAScreenWhateverTheRecordingHolds) {
  Summary s;
  // More than any file holds.
  constexpr std::uint64_t kMany = 999'999'999'999;
  const std::string nasty = "\x1b[2J\xff\xfe\n" + std::string(500, '\xe2');
  s.meta.whystall = s.meta.kernel = s.meta.host = s.meta.profile = s.meta.clock = nasty;
  s.meta.stopped_by = s.meta.driver_library = nasty;
  s.meta.targets = {{1, nasty, nasty}, {2, nasty, nasty}};
  s.meta.api_complete = false;
  s.meta.end_ns = s.stats.dropped_ns = std::int64_t{1} << 60;
  s.records.fill(kMany);
  s.stats.records = s.stats.unknown_records = s.stats.bad_records = kMany;
  s.stats.unknown_chunks = s.stats.damaged_chunks = s.chunks = kMany;
  s.stored_bytes = s.raw_bytes = s.file_bytes = ~0ull;
  s.losses.fill({~0ull, -(std::int64_t{1} << 60), std::int64_t{1} << 60});
  s.other_losses = s.losses[0];
  s.meta.nvml.state = s.meta.nvml.why = nasty;
  for (std::uint32_t i = 0; i < 64; i++) s.meta.nvml.devices[i] = {nasty, nasty, nasty, i};
  std::istringstream lines(output::render_info_text(s, nasty));
  std::string line;
  int count = 0;
  while (std::getline(lines, line)) {
    count++;
    EXPECT_LE(output::width(line), 80) << line;
    for (const char c : line) EXPECT_FALSE(c >= 0 && c < 0x20) << line;
    EXPECT_NO_THROW(static_cast<void>(nlohmann::json(line).dump())) << "strict UTF-8: " << line;
  }
  EXPECT_LE(count, 24);
  const auto json = nlohmann::json::parse(output::render_info_json(s, nasty));
  EXPECT_EQ(json["targets"].size(), 2u);
  EXPECT_EQ(json["device_counters"]["devices"].size(), 64u);
  EXPECT_EQ(json["losses"].size(), WST_LOSS_CLASSES + 1u);
}

}  // namespace
}  // namespace whystall
