// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "load/load.h"
#include "recording/reader.h"
#include "recording/writer.h"
#include "support/recording_builder.h"
#include "support/recording_file.h"

namespace {
/// Called between the pages of each write into a bounded recording: a kill can come there.
std::function<void()> between_writes;
}  // namespace

/// In the place of libc's.
extern "C" ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  constexpr size_t kPage = 4096;
  const auto write = [&](size_t begin, size_t n) {
    return static_cast<size_t>(syscall(SYS_pwrite64, fd, static_cast<const char*>(from) + begin, n,
                                       at + static_cast<off_t>(begin)));
  };
  if (!between_writes) return static_cast<ssize_t>(write(0, bytes));
  const size_t first = std::min(bytes, kPage - static_cast<size_t>(at) % kPage);
  const size_t last = bytes > first ? (static_cast<size_t>(at) + bytes) % kPage : 0;
  for (const auto& [begin, n] :
       {std::pair{size_t{0}, first}, {first, bytes - first - last}, {bytes - last, last}}) {
    if (n == 0) continue;
    between_writes();
    EXPECT_EQ(write(begin, n), n);
  }
  return static_cast<ssize_t>(bytes);
}

namespace whystall::recording {
namespace {

using testing::bytes_of;
using testing::make_record;
using testing::TempDir;

constexpr std::uint64_t kBound = kMinMaxSize;
constexpr const char* kSession = R"({"host":"described","start_ns":1})";

class BoundedRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    create();
    ASSERT_TRUE(writer_->add_meta(kSession).ok());
  }
  void TearDown() override { between_writes = nullptr; }

  void create() {
    auto writer = Writer::create(path_, kBound);
    ASSERT_TRUE(writer.ok());
    writer_.emplace(std::move(*writer));
  }

  /// A wait that does not compress, at the next nanosecond.
  wst_wait next_wait() {
    auto wait = make_record<wst_wait>(WST_WAIT, ++now_);
    for (auto& arg : wait.args) arg = random_();
    wait.pos = random_();
    wait.ran_ns = random_() >> 8;
    return wait;
  }
  Status add(int waits) {
    for (int i = 0; i < waits; i++) {
      const wst_wait wait = next_wait();
      if (auto status = writer_->add_record(bytes_of(wait)); !status) return status;
    }
    return Nothing{};
  }

  struct Read {
    std::set<std::uint64_t> waits;  // their times
    bool described = false;
    ReadStats stats;
  };
  Read read() {
    Read read;
    auto reader = Reader::open(path_);
    if (!reader.ok()) return read;
    while (auto chunk = reader->next()) {
      if (chunk->chunk_class == ChunkClass::kMeta) {
        read.described |= std::string_view(reinterpret_cast<const char*>(chunk->bytes.data()),
                                           chunk->bytes.size()) == kSession;
        continue;
      }
      EXPECT_TRUE(for_each_record(chunk->bytes, [&](std::span<const std::byte> bytes) {
        wst_hdr header;
        std::memcpy(&header, bytes.data(), sizeof header);
        if (header.kind != WST_WAIT) return;
        EXPECT_TRUE(read.waits.insert(header.ts).second) << "twice";
      }));
    }
    read.stats = reader->stats();
    return read;
  }

  /// All that is later than what is gone, and no hole in it.
  static void expect_newest(const Read& read) {
    EXPECT_TRUE(read.described);
    EXPECT_EQ(read.stats.damaged_chunks + read.stats.unknown_chunks, 0u);
    const auto gone = static_cast<std::uint64_t>(read.stats.gone_until_ns);
    const auto kept = std::distance(read.waits.upper_bound(gone), read.waits.end());
    if (kept == 0) return;
    EXPECT_EQ(*read.waits.upper_bound(gone), gone + 1);
    EXPECT_EQ(*read.waits.rbegin(), gone + static_cast<std::uint64_t>(kept));
  }

  TempDir dir_;
  const std::string path_ = dir_.file("a.wst");
  std::optional<Writer> writer_;
  std::mt19937_64 random_{7};
  std::uint64_t now_ = 0;
};

TEST_F(BoundedRecording, NeverGrowsBeyondItsBoundAndKeepsTheNewest) {
  for (int round = 0; round < 300; round++) {
    // Chunks of many sizes, as a flush every second makes them.
    ASSERT_TRUE(add(static_cast<int>(random_() % 400)).ok());
    ASSERT_TRUE(writer_->flush().ok());
    ASSERT_LE(std::filesystem::file_size(path_), kBound) << round;
    if (round % 10) continue;
    const Read now = read();
    expect_newest(now);
    EXPECT_FALSE(now.stats.cut);
    EXPECT_EQ(now.waits.empty() ? 0 : *now.waits.rbegin(), now_);
  }
  EXPECT_GT(writer_->bytes_written(), 3 * kBound) << "it went round more than once";
  const Read last = read();
  EXPECT_EQ(last.stats.gone_until_ns, writer_->gone_until_ns());
  EXPECT_GT(last.stats.stored_bytes, kBound * 6 / 10) << "most of the room is used";
}

TEST_F(BoundedRecording, IsTheSameAsAnUnboundedOneUntilItIsFull) {
  ASSERT_TRUE(add(3000).ok());
  ASSERT_TRUE(writer_->add_meta(R"({"end_ns":9})").ok());
  const Read all = read();
  EXPECT_EQ(all.waits.size(), 3000u);
  EXPECT_EQ(all.stats.gone_until_ns, 0);
  expect_newest(all);
}

TEST_F(BoundedRecording, AKillAtAnyMomentLeavesAReadableFile) {
  std::uint64_t checks = 0;
  std::int64_t gone = 0;
  between_writes = [&] {
    const Read now = read();
    expect_newest(now);
    // Until it is full it ends as any recording does: perhaps inside a chunk.
    EXPECT_TRUE(now.stats.gone_until_ns == 0 || !now.stats.cut);
    EXPECT_GE(now.stats.gone_until_ns, gone);
    EXPECT_TRUE(now.stats.gone_until_ns == 0 || !now.waits.empty());
    gone = now.stats.gone_until_ns;
    checks++;
  };
  for (int round = 0; round < 45; round++) {
    ASSERT_TRUE(add(static_cast<int>(200 + random_() % 800)).ok());
    ASSERT_TRUE(writer_->flush().ok());
    if (HasFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(gone, 0);
  EXPECT_GT(checks, 200u);
}

TEST_F(BoundedRecording, RoomIsFoundForMetaThatEndsIt) {
  for (int round = 0; round < 12; round++) {
    create();
    now_ = 0;
    ASSERT_TRUE(writer_->add_meta(kSession).ok());
    ASSERT_TRUE(add(9000 + 500 * round).ok());
    ASSERT_TRUE(writer_->add_meta(R"({"end_ns":77777777,"host":"ended"})").ok());
    EXPECT_LE(std::filesystem::file_size(path_), kBound);
    expect_newest(read());
    const auto loaded = load::load_recording(path_);
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(loaded.value().meta.end_ns, 77777777);
    EXPECT_EQ(loaded.value().meta.host, "ended");
  }
}

TEST_F(BoundedRecording, EveryKeptRecordKeepsTheIdentitiesThatItRefersTo) {
  constexpr std::uint32_t kTasks = 50, kFiles = 500;
  const auto announce = [&](std::uint32_t tid, std::string_view comm) {
    auto task = make_record<wst_task>(WST_TASK, ++now_);
    task.tid = tid;
    task.tgid = 1;
    testing::set_text(task.comm, comm);
    ASSERT_TRUE(writer_->add_record(bytes_of(task)).ok());
  };
  for (std::uint32_t i = 1; i <= kTasks; i++) announce(i, "old" + std::to_string(i));
  for (std::uint32_t i = 1; i <= kTasks; i++) announce(i, "t" + std::to_string(i));
  for (std::uint32_t i = 1; i <= kFiles; i++) {
    auto file = make_record<wst_file>(WST_FILE, ++now_);
    const std::string path = "file" + std::to_string(i) + '\0';
    file.h.size = static_cast<std::uint16_t>(sizeof file + path.size());
    file.ino = i;
    file.path_len = static_cast<std::uint16_t>(path.size());
    testing::Bytes record;
    testing::append(record, file);
    testing::append(record, path);
    ASSERT_TRUE(writer_->add_record(std::as_bytes(std::span(record))).ok());
  }
  for (int i = 0; i < 60'000; i++) {
    wst_wait wait = next_wait();
    wait.tid = 1 + static_cast<std::uint32_t>(random_() % kTasks);
    wait.waker_tid = 1 + static_cast<std::uint32_t>(random_() % kTasks);
    wait.ino = 1 + random_() % kFiles;
    ASSERT_TRUE(writer_->add_record(bytes_of(wait)).ok());
  }
  ASSERT_TRUE(writer_->flush().ok());
  const auto loaded = load::load_recording(path_);
  ASSERT_TRUE(loaded.ok());
  const model::Recording& r = loaded.value();
  ASSERT_GT(r.stats.dropped_ns, 0);
  ASSERT_GT(r.waits.size(), 1000u);
  for (const wst_wait& wait : r.waits) {
    for (const auto tid : {wait.tid, wait.waker_tid}) {
      ASSERT_TRUE(r.tasks.contains(tid));
      EXPECT_EQ(r.tasks.at(tid).comm, "t" + std::to_string(tid)) << "the latest name";
    }
    const auto file = r.files.find({wait.ino, wait.dev, wait.generation});
    ASSERT_NE(file, r.files.end());
    EXPECT_EQ(file->second.path, "/file" + std::to_string(wait.ino));
  }
}

TEST_F(BoundedRecording, EveryKeptCallKeepsTheContextOfItsThread) {
  constexpr std::uint32_t kThreads = 3;
  const auto call = [&](std::uint32_t tid, std::uint16_t kind, std::uint64_t event) {
    auto r = make_record<wst_api>(WST_API, ++now_);
    r.tid = tid;
    r.tgid = 1;
    r.call = kind;
    r.entry_ns = now_;
    r.event = event;
    return r;
  };
  std::map<std::uint32_t, std::uint64_t> contexts;
  std::map<std::uint64_t, std::uint64_t> context_at;  // of a submit, by its time
  for (int i = 0; i < 60'000; i++) {
    const std::uint32_t tid = 1 + static_cast<std::uint32_t>(random_() % kThreads);
    // The first thread changes its context often, the others once.
    if (contexts[tid] == 0 || (tid == 1 && i % 1000 == 0)) {
      contexts[tid] = tid * 1'000'000 + static_cast<std::uint64_t>(i);
      ASSERT_TRUE(writer_->add_record(bytes_of(call(tid, WST_API_CONTEXT, contexts[tid]))).ok());
    }
    const auto submit = call(tid, WST_API_SUBMIT, 0);
    context_at[submit.h.ts] = contexts[tid];
    ASSERT_TRUE(writer_->add_record(bytes_of(submit)).ok());
    ASSERT_TRUE(add(1).ok());
  }
  ASSERT_TRUE(writer_->flush().ok());
  const auto loaded = load::load_recording(path_);
  ASSERT_TRUE(loaded.ok());
  const auto& r = loaded.value();
  ASSERT_GT(r.stats.dropped_ns, 30'000);
  std::map<std::uint32_t, std::uint64_t> now;
  int submits = 0;
  for (const wst_api& a : r.api) {
    if (a.call == WST_API_CONTEXT) {
      now[a.tid] = a.event;
      continue;
    }
    submits++;
    EXPECT_GT(static_cast<model::TimeNs>(a.h.ts), r.meta.start_ns);
    ASSERT_EQ(now[a.tid], context_at[a.h.ts]);
  }
  EXPECT_GT(submits, 1000);
}

TEST(BoundedIdentities, MemoryIsBounded) {
  Identities identities(100'000);
  for (std::uint32_t tid = 1; tid < 5000; tid++) {
    auto task = make_record<wst_task>(WST_TASK);
    task.tid = tid;
    EXPECT_TRUE(identities.missing_for(bytes_of(task)).empty());
    auto change = make_record<wst_api>(WST_API);
    change.call = WST_API_CONTEXT;
    change.tid = change.tgid = tid / 2 + 1;
    for (const auto missing : identities.missing_for(bytes_of(change))) {
      wst_task named;
      ASSERT_EQ(missing.size(), sizeof named);
      std::memcpy(&named, missing.data(), sizeof named);
      EXPECT_EQ(named.tid, change.tid) << "not forgotten meanwhile";
    }
    if (tid % 100 == 0) identities.begin_group();
    EXPECT_LT(identities.size() * sizeof task, 100'000u);
  }
  auto wait = make_record<wst_wait>(WST_WAIT);
  wait.tid = wait.tgid = 4000;
  EXPECT_LE(identities.missing_for(bytes_of(wait)).size(), 1u);
  EXPECT_TRUE(identities.missing_for(bytes_of(wait)).empty()) << "the group has it now";
}

/// A disk that is full from here on.
class FullDisk {
 public:
  explicit FullDisk(std::uint64_t bytes) {
    before_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit now{bytes, limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  void (*before_)(int);
};

TEST_F(BoundedRecording, AFullDiskLeavesTheWholeChunks) {
  const FullDisk disk(300'000);
  Status status = Nothing{};
  while (status) status = add(100);
  EXPECT_EQ(status.error().code, ErrorCode::kIncomplete);
  const Read all = read();
  EXPECT_FALSE(all.stats.cut);
  expect_newest(all);
  EXPECT_EQ(all.waits.size(), static_cast<std::uint64_t>(writer_->written_until_ns()));
  EXPECT_TRUE(writer_->add_meta(R"({"end_ns":1})").ok()) << "what was cut off leaves room";
  EXPECT_FALSE(read().stats.cut);
}

TEST_F(BoundedRecording, AFullDiskLeavesTheWholeChunksOfAnUnboundedOne) {
  auto writer = Writer::create(path_);
  ASSERT_TRUE(writer.ok());
  writer_.emplace(std::move(*writer));
  ASSERT_TRUE(writer_->add_meta(kSession).ok());
  const FullDisk disk(300'000);
  Status status = Nothing{};
  while (status) status = add(100);
  EXPECT_TRUE(writer_->add_meta(R"({"end_ns":1})").ok());
  const Read all = read();
  EXPECT_FALSE(all.stats.cut);
  expect_newest(all);
  EXPECT_EQ(all.waits.size(), static_cast<std::uint64_t>(writer_->written_until_ns()));
}

TEST_F(BoundedRecording, FreeRoomMayReachBeyondTheEndAndIsNeverRead) {
  testing::Bytes bytes = testing::file_header();
  testing::append_meta(bytes, kSession);
  ChunkHeader free{};
  free.magic = kChunkMagic;
  free.chunk_class = static_cast<std::uint16_t>(ChunkClass::kFree);
  free.stored_bytes = kMaxChunkBytes;
  free.last_ns = 400;
  free.checksum = chunk_checksum(free, {});
  testing::append(bytes, free);
  testing::write_bytes(path_, bytes);
  const Read all = read();
  EXPECT_TRUE(all.described);
  EXPECT_FALSE(all.stats.cut);
  EXPECT_EQ(all.stats.gone_until_ns, 400);

  bytes.back() = '\x7f';  // its time: the checksum no longer fits
  testing::write_bytes(path_, bytes);
  EXPECT_EQ(read().stats.gone_until_ns, 0);
}

}  // namespace
}  // namespace whystall::recording
