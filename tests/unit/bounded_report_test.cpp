// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "ledger/ledger.h"
#include "load/load.h"
#include "load/summary.h"
#include "recording/writer.h"
#include "support/recording_builder.h"
#include "support/recording_file.h"

namespace whystall {
namespace {

using testing::operator""_ms;
using testing::operator""_us;
using model::DurationNs;
using model::TimeNs;
using testing::bytes_of;

constexpr model::Tid kMain = 10;
constexpr TimeNs kStep = 10_ms, kGapBegin = 3_ms, kGapEnd = 8_ms;
constexpr int kSteps = 4000;
constexpr TimeNs kStart = 1_ms, kEnd = kSteps * kStep;

/// A program that in each step proves the device empty, reads a cold file and submits again.
class BoundedReport : public ::testing::Test {
 protected:
  void write(std::optional<std::uint64_t> max_size) {
    auto writer = recording::Writer::create(path_, max_size);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer
                    ->add_meta(R"({"host":"h","start_ns":)" + std::to_string(kStart) +
                               R"(,"wall_start_ns":5000})")
                    .ok());
    auto task = testing::make_record<wst_task>(WST_TASK, 1);
    task.tid = task.tgid = kMain;
    testing::set_text(task.comm, "trainer");
    ASSERT_TRUE(writer->add_record(bytes_of(task)).ok());
    std::mt19937_64 random(3);
    for (int step = 0; step < kSteps; step++) {
      testing::RecordingBuilder b;
      b.task(kMain, kMain, "trainer");
      const TimeNs at = step * kStep;
      b.proven_gap(at + kGapBegin, at + kGapEnd, kMain);
      b.blocked(kMain, at, at + kGapBegin, at + kGapEnd - 1_ms).reading({1, 2, 3});
      b.running(kMain, at + kGapEnd - 1_ms, at + kStep);
      // Of threads that have nothing to do with it, so that the recording grows.
      for (int i = 0; i < 12; i++) {
        b.blocked(500, at, at + 1, at + 2).in_call(7, random(), random(), random());
      }
      const model::Recording r = b.build();
      for (const auto& call : r.api) ASSERT_TRUE(writer->add_record(bytes_of(call)).ok());
      for (const auto& wait : r.waits) ASSERT_TRUE(writer->add_record(bytes_of(wait)).ok());
    }
    auto loss = testing::make_record<wst_loss>(WST_LOSS, kEnd);
    loss.count = 4;
    loss.first_ns = 5;
    loss.last_ns = 6;
    loss.loss_class = WST_LOST_WAIT;
    ASSERT_TRUE(writer->add_record(bytes_of(loss)).ok());
    ASSERT_TRUE(writer->add_meta(R"({"end_ns":)" + std::to_string(kEnd) + "}").ok());
  }
  model::Recording load() {
    auto loaded = load::load_recording(path_);
    EXPECT_TRUE(loaded.ok());
    return std::move(loaded.value());
  }
  static void expect_exact(const model::Diagnosis& d) {
    EXPECT_EQ(d.conservation_error_ns, 0);
    DurationNs findings = 0;
    for (const auto& f : d.findings) findings += f.ns;
    EXPECT_EQ(findings, d.stalled_ns());
    EXPECT_EQ(d.starved_ns + d.micro_gap_ns + d.had_work_ns + d.not_known_ns, d.observed_ns());
  }

  testing::TempDir dir_;
  const std::string path_ = dir_.file("a.wst");
};

TEST_F(BoundedReport, CoversOnlyTheNewestPartAndSumsExactly) {
  write({});
  const auto whole = ledger::diagnose(load());
  EXPECT_EQ(whole.window_ns, kEnd - kStart);
  EXPECT_EQ(whole.starved_ns, kSteps * (kGapEnd - kGapBegin));
  EXPECT_EQ(whole.load.dropped_ns, 0);
  EXPECT_EQ(whole.lost_records, 4u);

  write(recording::kMinMaxSize);
  const auto recording = load();
  const auto d = ledger::diagnose(recording);
  const TimeNs from = kStart + d.load.dropped_ns;
  ASSERT_GT(d.load.dropped_ns, kEnd / 4) << "much of it has made way";
  ASSERT_LT(d.load.dropped_ns, kEnd * 9 / 10);
  EXPECT_EQ(d.meta.start_ns, from);
  EXPECT_EQ(d.meta.wall_start_ns, 5000 + d.load.dropped_ns);
  EXPECT_EQ(d.window_ns, kEnd - from);
  for (const auto& call : recording.api) EXPECT_GT(static_cast<TimeNs>(call.h.ts), from);
  for (const auto& wait : recording.waits) EXPECT_GT(static_cast<TimeNs>(wait.h.ts), from);

  // The gaps whose proof is there, each whole.
  const TimeNs first_step = (from - kGapBegin) / kStep + 1;
  EXPECT_EQ(d.gaps, static_cast<std::uint64_t>(kSteps - first_step));
  EXPECT_EQ(d.starved_ns, (kSteps - first_step) * (kGapEnd - kGapBegin));
  EXPECT_EQ(d.starved_proven_ns, d.starved_ns);
  expect_exact(d);
  ASSERT_FALSE(d.findings.empty());
  EXPECT_EQ(d.findings.front().cause, model::Cause::kStorageRead);
  EXPECT_NE(d.findings.front().path.find("trainer 10"), std::string::npos) << "names stay";
  EXPECT_EQ(d.lost_records, 0u) << "they were lost in what has made way";
}

TEST_F(BoundedReport, TheSummaryTellsTheSameWindow) {
  write(recording::kMinMaxSize);
  const auto recording = load();
  const auto summary = load::summarize(path_);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary.value().meta.start_ns, recording.meta.start_ns);
  EXPECT_EQ(summary.value().meta.end_ns, recording.meta.end_ns);
  EXPECT_EQ(summary.value().stats.dropped_ns, recording.stats.dropped_ns);
  EXPECT_FALSE(summary.value().stats.no_end);
  EXPECT_EQ(summary.value().format_minor, recording::kMinor);
}

TEST_F(BoundedReport, ATimeThatCannotBeLeavesAnEmptyWindowAtWorst) {
  for (const std::int64_t time : {std::int64_t{-5}, std::int64_t{1} << 59, std::int64_t{1} << 62}) {
    testing::Bytes bytes = testing::file_header();
    testing::append_meta(bytes, R"({"start_ns":1000,"end_ns":9000})");
    recording::ChunkHeader free{};
    free.magic = recording::kChunkMagic;
    free.chunk_class = static_cast<std::uint16_t>(recording::ChunkClass::kFree);
    free.last_ns = time;
    free.checksum = recording::chunk_checksum(free, {});
    testing::append(bytes, free);
    testing::write_bytes(path_, bytes);
    const auto d = ledger::diagnose(load());
    EXPECT_GE(d.window_ns, 0) << time;
    EXPECT_LE(d.window_ns, 8000) << time;
    expect_exact(d);
  }
}

}  // namespace
}  // namespace whystall
