// SPDX-License-Identifier: Apache-2.0
// A recording in a file: read at once or in slabs, the answer is the same.
#include "load/file_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "ledger/ledger.h"
#include "output/output.h"
#include "recording/writer.h"
#include "support/recording_builder.h"

namespace whystall::load {
namespace {

using testing::operator""_us;
using testing::operator""_ms;
using model::TimeNs;

constexpr model::Tid kMain = 100, kWorker = 200;

class FileSource : public ::testing::Test {
 protected:
  FileSource() : path_("/tmp/whystall-source-" + std::to_string(getpid()) + ".wst") {
    ::unlink(path_.c_str());
  }
  ~FileSource() override { ::unlink(path_.c_str()); }

  template <typename Record>
  static void add(recording::Writer& writer, const Record& record) {
    ASSERT_TRUE(writer.add_record(std::as_bytes(std::span(&record, 1))).ok());
  }

  /// Steps of 10 ms: a gap while the main thread waits for a worker, which reads a file. Each
  /// chunk holds a few; `length` steps, the first ones without a call of the driver.
  void write(TimeNs length, TimeNs without_calls = 0) {
    auto writer = recording::Writer::create(path_);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->add_meta(R"({"start_ns":1000000,"api_complete":true})").ok());
    for (const model::Tid tid : {kMain, kWorker}) {
      wst_task task{};
      task.h = {sizeof task, WST_TASK, 0, 0, 1'000'000};
      task.tid = task.tgid = tid;
      task.flags = WST_TASK_TARGET;
      add(*writer, task);
    }
    TimeNs at = 2_ms;
    for (TimeNs step = 0; step < length; step++, at += 10_ms) {
      testing::RecordingBuilder b;
      b.task(kMain, kMain, "main").task(kWorker, kWorker, "worker");
      b.proven_gap(at + 1_ms, at + 9_ms, kMain);
      b.blocked(kMain, at - 2_ms, at + 2_ms, at + 8_ms, at + 8_ms)
          .on_pipe()
          .woken_by(kWorker, kWorker);
      b.blocked(kWorker, at - 1_ms, at + 3_ms, at + 7_ms, at + 8_ms)
          .reading({5, 1, 0})
          .woken_in(WST_CTX_HARDIRQ);
      b.runnable(kWorker, at + 8_ms, at + 8_ms + 100_us, at + 9_ms);
      b.slice(0, at + 7_ms, at + 9_ms, 300 + static_cast<model::Pid>(step % 3), "other");
      const auto recording = b.build();
      for (const wst_wait& wait : recording.waits) add(*writer, wait);
      for (const wst_slice& slice : recording.slices) add(*writer, slice);
      for (const wst_api& call : recording.api) {
        if (step >= without_calls) add(*writer, call);
      }
      if (step % 5 == 4) {
        ASSERT_TRUE(writer->flush().ok());
      }
    }
    ASSERT_TRUE(writer->add_meta("{\"end_ns\":" + std::to_string(at) + "}").ok());
  }

  std::string path_;
};

TEST_F(FileSource, ReadInSlabsAndReadAtOnceAreOneAnswer) {
  for (const TimeNs without_calls : {0, 150}) {
    write(400, without_calls);
    const auto recording = load_recording(path_);
    ASSERT_TRUE(recording.ok());
    const std::string whole = output::render_json(ledger::diagnose(recording.value()));
    EXPECT_NE(whole.find("storage.read"), std::string::npos);
    EXPECT_NE(whole.find("\"other\""), std::string::npos) << "a name that only slices tell";
    for (const std::uint64_t bytes : {1'000u, 20'000u, 100'000u}) {
      for (const std::uint64_t of_callers : {0u, 1u << 20}) {
        auto source = open_source(path_, {kMaxMemory, bytes, of_callers});
        ASSERT_TRUE(source.ok());
        EXPECT_GT((*source)->slabs().size(), 1u);
        EXPECT_TRUE((*source)->whole().waits.empty());
        const auto found = ledger::diagnose(**source);
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(output::render_json(found.value()), whole) << bytes << " " << of_callers;
      }
    }
  }
}

TEST_F(FileSource, TheStatesOfThreadsThatCallTheDriverAreKept) {
  for (const TimeNs without_calls : {0, 150}) {
    write(400, without_calls);
    auto source = open_source(path_, {kMaxMemory, 1'000});
    ASSERT_TRUE(source.ok());
    const auto callers = (*source)->take_callers();
    ASSERT_TRUE(callers);
    EXPECT_EQ(callers->waits.size(), 400u);
    for (const wst_wait& wait : callers->waits) ASSERT_EQ(wait.tid, kMain);
    source = open_source(path_, {kMaxMemory, 1'000, 10'000});
    ASSERT_TRUE(source.ok());
    EXPECT_FALSE((*source)->take_callers()) << "they take more than 10,000 bytes";
  }
}

TEST_F(FileSource, WhatIsSmallStaysInMemory) {
  write(10);
  auto source = open_source(path_);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->slabs().size(), 1u);
  EXPECT_EQ((*source)->whole().waits.size(), 30u);
}

TEST_F(FileSource, AFileThatShrankMeanwhileIsUnreadable) {
  write(400);
  auto source = open_source(path_, {kMaxMemory, 1'000});
  ASSERT_TRUE(source.ok());
  ASSERT_EQ(::truncate(path_.c_str(), 2'000), 0);
  const auto found = ledger::diagnose(**source);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kUnreadable);
}

TEST_F(FileSource, WhatMustBeKnownOfTheWholeIsBounded) {
  write(400);
  EXPECT_TRUE(open_source(path_, {400'000, 1'000}).ok());
  EXPECT_FALSE(open_source(path_, {50'000, 1'000}).ok());
}

}  // namespace
}  // namespace whystall::load
