// SPDX-License-Identifier: Apache-2.0
//
// Writes a recording as large as is asked for, of a made-up training job: two processes that feed a
// device each, and hundreds of threads of loaders that read files, wait for each other and are
// preempted. Records come as the kernel side's do: of each CPU by time, of several CPUs in turns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <queue>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "abi/events.h"
#include "abi/syscalls.h"
#include "recording/writer.h"

namespace {

using whystall::recording::Writer;

constexpr std::uint64_t kMs = 1'000'000, kUs = 1'000;
constexpr std::uint64_t kStart = 1'000 * kMs;
constexpr std::uint32_t kCpus = 16;
constexpr std::uint32_t kTrainers = 2, kWorkersOfTrainer = 32, kThreadsOfWorker = 4;
constexpr std::uint32_t kFiles = 2'000;
/// What is drained at a time: so far the order of time is lost.
constexpr std::uint64_t kDrainNs = 20 * kMs;

struct Thread {
  std::uint32_t tid = 0, tgid = 0;
  std::uint32_t trainer = 0;
  bool feeds = false;           // it calls the driver
  std::uint64_t at = kStart;    // on the CPU since
  std::uint64_t sums_from = 0;  // what it did since is added up
  std::uint32_t cpu = 0;
};

struct Later {
  bool operator()(const Thread* a, const Thread* b) const { return a->at > b->at; }
};

class Job {
 public:
  explicit Job(Writer& writer) : writer_(writer) {
    for (std::uint32_t t = 0; t < kTrainers; t++) {
      const std::uint32_t pid = 1'000 + t * 10'000;
      threads_.push_back({pid, pid, t, true});
      for (std::uint32_t w = 0; w < kWorkersOfTrainer; w++) {
        for (std::uint32_t i = 0; i < kThreadsOfWorker; i++)
          threads_.push_back({pid + 100 * (w + 1) + i, pid + 100 * (w + 1), t});
      }
    }
  }

  /// False: it could not be written.
  bool run(std::uint64_t raw_bytes) {
    const std::string meta =
        R"({"whystall":"bench","host":"bench","clock":"CLOCK_MONOTONIC","start_ns":)" +
        std::to_string(kStart) +
        R"(,"api_complete":true,"api_symbols":["cuLaunchKernel","cuStreamSynchronize"],)" +
        R"("targets":[{"pid":1000,"comm":"trainer","command":"trainer"}]})";
    if (!writer_.add_meta(meta)) return false;
    name_all();
    std::priority_queue<Thread*, std::vector<Thread*>, Later> next;
    for (Thread& thread : threads_) {
      thread.at += draw(5 * kMs);
      thread.sums_from = thread.at;
      thread.cpu = static_cast<std::uint32_t>(draw(kCpus));
      next.push(&thread);
    }
    std::uint64_t drained = kStart;
    while (bytes_ < raw_bytes) {
      Thread* thread = next.top();
      next.pop();
      for (; thread->at >= drained + kDrainNs; drained += kDrainNs) {
        if (!drain(drained + kDrainNs)) return false;
      }
      thread->feeds ? step(*thread) : work(*thread);
      next.push(thread);
    }
    if (!drain(~0ULL)) return false;
    const std::string end = "{\"end_ns\":" + std::to_string(drained) + "}";
    return writer_.add_meta(end).ok() && writer_.flush().ok();
  }

  std::uint64_t records() const { return records_; }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

  template <typename Record>
  wst_hdr header(std::uint8_t kind, std::uint32_t cpu, std::uint64_t ts) {
    return {sizeof(Record), kind, 0, cpu, ts};
  }

  template <typename Record>
  void add(const Record& record) {
    add_bytes(std::as_bytes(std::span(&record, 1)), record.h);
  }
  void add_bytes(std::span<const std::byte> bytes, const wst_hdr& h) {
    pending_.push_back({h.ts, h.cpu % 4, {bytes.begin(), bytes.end()}});
    bytes_ += bytes.size();
    records_++;
  }

  void name_all() {
    for (const Thread& t : threads_) {
      wst_task task{};
      task.h = header<wst_task>(WST_TASK, 0, kStart);
      task.tid = t.tid;
      task.tgid = t.tgid;
      task.flags = WST_TASK_TARGET;
      std::snprintf(task.comm, sizeof task.comm, "%s", t.feeds ? "trainer" : "loader");
      add(task);
    }
    for (std::uint32_t i = 1; i <= kFiles; i++) {
      const std::string path = std::to_string(i) + ".bin" + '\0' + "train" + '\0' + "data" + '\0';
      wst_file file{};
      file.h = header<wst_file>(WST_FILE, 0, kStart);
      file.h.size = static_cast<__u16>(sizeof file + path.size());
      file.ino = i;
      file.dev = 8u << 20 | 1u;
      file.path_len = static_cast<__u16>(path.size());
      std::snprintf(file.fs_type, sizeof file.fs_type, "ext4");
      std::vector<std::byte> bytes(sizeof file + path.size());
      std::memcpy(bytes.data(), &file, sizeof file);
      std::memcpy(bytes.data() + sizeof file, path.data(), path.size());
      add_bytes(bytes, file.h);
    }
  }

  /// Off the CPU at `out` until `in`.
  wst_wait stay(const Thread& t, std::uint64_t out, std::uint64_t wake, std::uint64_t in) {
    wst_wait w{};
    w.h = header<wst_wait>(WST_WAIT, t.cpu, in);
    w.ran_ns = t.at;
    w.out_ns = out;
    w.wake_ns = wake;
    w.tid = t.tid;
    w.tgid = t.tgid;
    w.nr = w.waker_nr = -1;
    w.cpu_out = t.cpu;
    w.flags = WST_WAIT_BLOCKED | WST_WAIT_WOKEN;
    return w;
  }

  const Thread& any_loader(std::uint32_t trainer) {
    const std::uint32_t loaders = kWorkersOfTrainer * kThreadsOfWorker;
    return threads_[trainer * (loaders + 1) + 1 + draw(loaders)];
  }

  /// A thread of a loader runs, then reads a file, waits for another thread, or is preempted.
  void work(Thread& t) {
    const std::uint64_t out = t.at + 50 * kUs + draw(900 * kUs);
    const std::uint64_t wake = out + 100 * kUs + draw(4 * kMs);
    const std::uint64_t in = wake + 2 * kUs + draw(60 * kUs);
    if (t.at > t.sums_from + 10 * kMs) add_sums(t, out);
    wst_wait w = stay(t, out, wake, in);
    const std::uint64_t kind = draw(100);
    if (kind < 50) {
      w.nr = WST_NR_PREAD64;
      w.file_kind = WST_FILE_REGULAR;
      w.flags |= WST_WAIT_IOWAIT;
      w.ino = 1 + draw(kFiles);
      w.dev = 8u << 20 | 1u;
      w.waker_context = WST_CTX_HARDIRQ;
    } else if (kind < 85) {
      const Thread& other = any_loader(t.trainer);
      w.nr = WST_NR_FUTEX;
      w.args[0] = 0x7000 + 64 * draw(16);
      w.args[1] = 0x80;
      w.args[2] = 2;
      w.waker_tid = other.tid == t.tid ? 0 : other.tid;
      w.waker_tgid = other.tgid;
    } else {
      w.flags = 0;
      w.wake_ns = 0;
      if (kind < 92) move(t, w, out, in);
      others_ran(w.h.cpu, out, in);
    }
    add(w);
    t.at = in;
  }

  void move(Thread& t, wst_wait& w, std::uint64_t out, std::uint64_t in) {
    wst_migrate move{};
    move.h = header<wst_migrate>(WST_MIGRATE, t.cpu, out + (in - out) / 2);
    move.tid = t.tid;
    move.tgid = t.tgid;
    move.from_cpu = t.cpu;
    t.cpu = move.to_cpu = static_cast<std::uint32_t>(draw(kCpus));
    add(move);
    w.flags |= WST_WAIT_MIGRATED;
    w.h.cpu = t.cpu;
  }

  void others_ran(std::uint32_t cpu, std::uint64_t lo, std::uint64_t hi) {
    wst_slice s{};
    s.h = header<wst_slice>(WST_SLICE, cpu, hi);
    s.start_ns = lo;
    s.tid = s.tgid = 50'000 + static_cast<std::uint32_t>(draw(20));
    std::snprintf(s.comm, sizeof s.comm, "neighbour");
    add(s);
  }

  void add_sums(Thread& t, std::uint64_t until) {
    constexpr std::uint32_t kEntries = 2;
    struct {
      wst_sums head;
      wst_sum entries[kEntries];
    } r{};
    r.head.h = header<wst_sums>(WST_SUMS, t.cpu, until);
    r.head.h.size = sizeof r;
    r.head.from_ns = t.at;
    r.head.tid = t.tid;
    r.head.tgid = t.tgid;
    r.head.count = kEntries;
    const std::uint64_t length = until - t.at;
    for (wst_sum& sum : r.entries) {
      const Thread& other = any_loader(t.trainer);
      sum.first_ns = t.at;
      sum.out_ns = t.at + length / 2 + draw(length / 8);
      sum.wake_ns = sum.out_ns + length / 32;
      sum.in_ns = sum.wake_ns + length / 64;
      sum.count = 4;
      sum.blocked_ns = length / 8;
      sum.runnable_ns = length / 16;
      sum.nr = WST_NR_FUTEX;
      sum.object = 0x7000 + 64 * draw(16);
      sum.flags = WST_WAIT_BLOCKED | WST_WAIT_WOKEN;
      sum.waker_tid = other.tid;
      sum.waker_tgid = other.tgid;
    }
    add_bytes(std::as_bytes(std::span(&r, 1)), r.head.h);
    t.sums_from = until;
  }

  void call(const Thread& t, wst_api_kind kind, std::uint64_t entry, std::uint64_t ts,
            std::uint64_t stream, std::uint32_t count = 1) {
    wst_api a{};
    a.h = header<wst_api>(WST_API, t.cpu, ts);
    a.entry_ns = entry;
    a.stream = stream;
    a.tid = t.tid;
    a.tgid = t.tgid;
    a.call = static_cast<__u16>(kind);
    a.symbol = kind == WST_API_SUBMIT ? 0 : 1;
    a.count = count;
    a.last_ns = kind == WST_API_SUBMIT ? entry + 10 * kUs * count : 0;
    submits_[t.trainer] += kind == WST_API_SUBMIT ? count : 0;
    a.submits = submits_[t.trainer];
    add(a);
  }

  /// Takes a batch from a loader, launches work on several streams, and waits until it is done.
  void step(Thread& t) {
    const Thread& loader = any_loader(t.trainer);
    const std::uint64_t out = t.at + 30 * kUs + draw(300 * kUs);
    const std::uint64_t wake = out + 200 * kUs + draw(5 * kMs);
    wst_wait w = stay(t, out, wake, wake + 10 * kUs);
    w.nr = WST_NR_POLL;
    w.args[1] = 1;
    w.file_kind = WST_FILE_PIPE;
    w.ino = 77;
    w.waker_tid = loader.tid;
    w.waker_tgid = loader.tgid;
    add(w);
    t.at = w.h.ts;
    std::uint64_t at = t.at + 20 * kUs;
    for (std::uint64_t i = 0; i < 20; i++) {
      call(t, WST_API_SUBMIT, at, at, 0x5000 + i % 4, 5);
      at += 100 * kUs;
    }
    const std::uint64_t entry = at, slept = entry + 60 * kUs, done = slept + draw(8 * kMs);
    wst_wait sync = stay(t, slept, done, done + 8 * kUs);
    sync.nr = WST_NR_POLL;
    sync.args[1] = 1;
    sync.file_kind = WST_FILE_CHAR;
    sync.waker_context = WST_CTX_HARDIRQ;
    add(sync);
    t.at = sync.h.ts;
    call(t, WST_API_SYNC_CONTEXT, entry, t.at + 5 * kUs, WST_STREAM_LEGACY);
    wst_sample sample{};
    sample.h = header<wst_sample>(WST_SAMPLE, t.cpu, t.at);
    sample.tid = t.tid;
    sample.tgid = t.tgid;
    sample.nr = -1;
    add(sample);
  }

  struct Pending {
    std::uint64_t ts;
    std::uint32_t shard;
    std::vector<std::byte> bytes;
  };

  /// Writes what lies before `until`, one CPU after the other.
  bool drain(std::uint64_t until) {
    const auto rest = std::stable_partition(pending_.begin(), pending_.end(),
                                            [&](const Pending& p) { return p.ts < until; });
    std::stable_sort(pending_.begin(), rest, [](const Pending& a, const Pending& b) {
      return std::pair(a.shard, a.ts) < std::pair(b.shard, b.ts);
    });
    for (auto p = pending_.begin(); p != rest; ++p) {
      if (!writer_.add_record(p->bytes)) return false;
    }
    pending_.erase(pending_.begin(), rest);
    return true;
  }

  Writer& writer_;
  std::mt19937_64 random_{12345};
  std::vector<Thread> threads_;
  std::vector<Pending> pending_;
  std::uint32_t submits_[kTrainers] = {};
  std::uint64_t bytes_ = 0, records_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: make_recording FILE RAW_MEGABYTES\n", stderr);
    return 1;
  }
  auto writer = Writer::create(argv[1]);
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().text.c_str());
    return 1;
  }
  Job job(*writer);
  if (!job.run(std::strtoull(argv[2], nullptr, 10) << 20)) {
    std::fputs("it could not be written\n", stderr);
    return 1;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(job.records()));
  return 0;
}
