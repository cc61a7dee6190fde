// SPDX-License-Identifier: Apache-2.0
//
// make_recording FIXTURE OUT.wst: makes a recording of a text, one record a line. Times are after
// the recording's start, which is second 1,000 of the monotonic clock.
//
//   window END [open]                   the recording's end; open: its writer was killed
//   meta {JSON}                         more of what capture says of itself
//   live                                all sources watched from the start and were tested
//   task TID PID NAME [kernel] [foreign] [ns=TID]
//   file INODE PATH FILESYSTEM [deleted] [truncated]
//   wait TID OUT IN [ran=T] [wake=T] [call=NAME] [file=INODE [iowait]] [on=KIND] [ino=N] [by=TID]
//        [context=NAME [vector=N]] [lock=ADDRESS] [arg0=N] [owner=TID] [faults=N] [throttled=T]
//        [cpu=N] …
//                                       asleep; ran: since when it had been on the CPU, otherwise
//                                       since the thread's last wait
//   ready TID OUT IN CPU [ran=T] …      the same, but ready to run
//   run TID UNTIL [ran=T]               on the CPU when the recording ended
//   sums TID FROM TO count=N blocked=T [ready=T] and what a wait has
//   slice CPU FROM TO PID NAME
//   submit T TID · sync FROM TO TID · stream_sync FROM TO TID · query T TID [pending]
//   copy FROM TO TID [bytes=N] · memory FROM TO TID [bytes=N] · context T TID HANDLE
//                                       each also stream=N symbol=N
//   gap FROM TO TID                     calls that prove the device idle: submit, sync, submit
//   sample T TID [call=NAME] [ip=N]
//   endpoint PID INODE KIND [listens] [local=PORT] [remote=PORT]
//   loss CLASS COUNT FROM TO
//   repeat N STEP … end                 these lines N times, each STEP later; $i is the round
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "abi/events.h"
#include "fixture_line.h"
#include "recording/writer.h"

namespace whystall::golden {

namespace {

constexpr std::int64_t kStart = 1'000'000'000'000;
constexpr std::int64_t kWallStart = 1'767'323'045'000'000'000;  // 2026-01-02T03:04:05Z
constexpr std::uint32_t kDevice = 8u << 20 | 1u;
constexpr std::uint64_t kStream = 0x5000;

const std::map<std::string, std::int32_t> kCalls = {
    {"none", -1},      {"read", 0},      {"write", 1},        {"poll", 7},
    {"ioctl", 16},     {"yield", 24},    {"select", 23},      {"pread", 17},
    {"nanosleep", 35}, {"recvfrom", 45}, {"wait4", 61},       {"fsync", 74},
    {"futex", 202},    {"open", 257},    {"epoll_wait", 232}, {"accept", 43}};
const std::map<std::string, std::uint8_t> kKinds = {
    {"none", WST_FILE_NONE}, {"regular", WST_FILE_REGULAR}, {"pipe", WST_FILE_PIPE},
    {"inet", WST_FILE_INET}, {"unix", WST_FILE_UNIX},       {"epoll", WST_FILE_EPOLL},
    {"char", WST_FILE_CHAR}, {"eventfd", WST_FILE_EVENTFD}};
const std::map<std::string, std::uint8_t> kContexts = {{"task", WST_CTX_TASK},
                                                       {"softirq", WST_CTX_SOFTIRQ},
                                                       {"hardirq", WST_CTX_HARDIRQ},
                                                       {"timer", WST_CTX_TIMER},
                                                       {"localnet", WST_CTX_LOCALNET}};
const std::map<std::string, std::uint32_t> kFlags = {
    {"iowait", WST_WAIT_IOWAIT},  {"still", WST_WAIT_OPEN},    {"frozen", WST_WAIT_FREEZE},
    {"born", WST_WAIT_BORN},      {"before", WST_WAIT_BEFORE}, {"migrated", WST_WAIT_MIGRATED},
    {"no_file", WST_WAIT_NO_FILE}};
const std::map<std::string, std::uint32_t> kLosses = {
    {"wait", WST_LOST_WAIT},     {"slice", WST_LOST_SLICE}, {"file", WST_LOST_FILE},
    {"api", WST_LOST_API},       {"task", WST_LOST_TASK},   {"storage", WST_LOST_STORAGE},
    {"sample", WST_LOST_SAMPLE}, {"end", WST_LOST_END}};

template <typename Value>
Value named(const std::map<std::string, Value>& names, const std::string& name) {
  const auto it = names.find(name);
  if (it == names.end()) throw FixtureError("'" + name + "' is not known here");
  return it->second;
}

template <std::size_t N>
void set_text(char (&to)[N], const std::string& text) {
  std::memset(to, 0, N);
  std::memcpy(to, text.data(), std::min(text.size(), N));
}

template <typename Record>
Record make(std::uint8_t kind, std::int64_t at) {
  Record record{};
  record.h.size = sizeof record;
  record.h.kind = kind;
  record.h.ts = static_cast<std::uint64_t>(at);
  return record;
}

class Maker {
 public:
  explicit Maker(recording::Writer& writer) : writer_(writer) {}

  void start() {
    meta({{"whystall", "golden"},
          {"kernel", "6.12.0"},
          {"host", "node7"},
          {"profile", "lean"},
          {"clock", "api"},
          {"whystall_pid", 900},
          {"start_ns", kStart},
          {"wall_start_ns", kWallStart},
          {"api_symbols",
           {"cuLaunchKernel", "cuStreamSynchronize", "cuCtxSynchronize", "cuMemcpyHtoDAsync_v2",
            "cuMemAlloc_v2", "cuStreamQuery"}}});
  }

  void add(const FixtureLine& line, std::int64_t shift) {
    base_ = kStart + shift;
    const std::string& kind = line.kind();
    if (kind == "window")
      window(line);
    else if (kind == "meta")
      check(writer_.add_meta(line.word(0)));
    else if (kind == "live")
      live();
    else if (kind == "task")
      task(line);
    else if (kind == "file")
      file(line);
    else if (kind == "wait" || kind == "ready" || kind == "run")
      wait(line);
    else if (kind == "sums")
      sums(line);
    else if (kind == "slice")
      slice(line);
    else if (kind == "sample")
      sample(line);
    else if (kind == "endpoint")
      endpoint(line);
    else if (kind == "loss")
      loss(line);
    else if (kind == "gap")
      gap(line);
    else
      api(line);
    line.expect_all_used();
  }

  void finish() {
    if (end_) meta({{"end_ns", *end_}, {"stopped_by", "duration"}});
    check(writer_.flush());
  }

 private:
  static void check(const Status& status) {
    if (!status) throw FixtureError(status.error().text);
  }
  void meta(const nlohmann::json& json) { check(writer_.add_meta(json.dump())); }
  template <typename Record>
  void write(const Record& record) {
    check(writer_.add_record(std::as_bytes(std::span(&record, 1))));
  }
  std::int64_t at(const FixtureLine& line, std::size_t place) const {
    return base_ + line.time(place);
  }
  std::uint64_t unsigned_at(const FixtureLine& line, std::size_t place) const {
    return static_cast<std::uint64_t>(at(line, place));
  }
  std::uint32_t pid_of(std::uint32_t tid) const {
    const auto it = pids_.find(tid);
    return it == pids_.end() ? tid : it->second;
  }

  void window(const FixtureLine& line) {
    if (!line.flag("open")) end_ = at(line, 0);
  }

  void live() {
    nlohmann::json sources = nlohmann::json::array();
    for (const char* name : {"waits", "wake context", "other ends", "on-CPU samples",
                             "driver calls", "driver queries"})
      sources.push_back({{"name", name},
                         {"state", "live"},
                         {"why", ""},
                         {"tested", true},
                         {"from_ns", kStart},
                         {"until_ns", 0}});
    meta({{"sources", sources},
          {"cost", {{{"at_ns", kStart}, {"cpu_share", {{"waits", 0.0005}}}}}}});
  }

  void task(const FixtureLine& line) {
    auto r = make<wst_task>(WST_TASK, base_);
    r.tid = static_cast<std::uint32_t>(line.number(0));
    r.tgid = static_cast<std::uint32_t>(line.number(1));
    set_text(r.comm, line.word(2));
    if (line.flag("kernel"))
      r.flags = WST_TASK_KERNEL;
    else if (!line.flag("foreign"))
      r.flags = WST_TASK_TARGET;
    r.ns_tid = static_cast<std::uint32_t>(line.number_or("ns", r.tid));
    pids_[r.tid] = r.tgid;
    write(r);
  }

  void file(const FixtureLine& line) {
    auto r = make<wst_file>(WST_FILE, base_);
    r.ino = line.number(0);
    r.dev = kDevice;
    r.generation = 7;
    std::string path = line.word(1), leaf_first;
    while (!path.empty()) {
      const std::size_t slash = path.rfind('/');
      leaf_first += path.substr(slash + 1) + '\0';
      path.resize(slash);
    }
    set_text(r.fs_type, line.word(2));
    if (line.flag("deleted")) r.flags |= WST_PATH_DELETED;
    if (line.flag("truncated")) r.flags |= WST_PATH_TRUNCATED;
    r.path_len = static_cast<std::uint16_t>(leaf_first.size());
    std::vector<std::byte> bytes(sizeof r + leaf_first.size());
    r.h.size = static_cast<std::uint16_t>(bytes.size());
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, leaf_first.data(), leaf_first.size());
    check(writer_.add_record(bytes));
  }

  /// The object, the call and the waker, as both kinds of wait records have them.
  template <typename Wait>
  void describe(const FixtureLine& line, Wait& r) {
    r.nr = named(kCalls, line.value("call").value_or("none"));
    r.file_kind = named(kKinds, line.value("on").value_or("none"));
    r.waker_nr = -1;
    if (const auto by = line.value("by")) {
      r.waker_tid = static_cast<std::uint32_t>(FixtureLine::to_number(*by));
      r.waker_tgid = pid_of(r.waker_tid);
      r.flags |= WST_WAIT_WOKEN;
    }
    if (const auto context = line.value("context")) {
      r.waker_context = named(kContexts, *context);
      r.flags |= WST_WAIT_WOKEN;
    }
    for (const auto& [name, flag] : kFlags) {
      if (line.flag(name)) r.flags |= flag;
    }
  }

  void wait(const FixtureLine& line) {
    const bool runs = line.kind() == "run";
    const std::int64_t out = at(line, 1), in = runs ? out : at(line, 2);
    auto r = make<wst_wait>(WST_WAIT, in);
    r.tid = static_cast<std::uint32_t>(line.number(0));
    r.tgid = pid_of(r.tid);
    const std::int64_t before = last_.contains(r.tid) ? last_[r.tid] : kStart - 1'000'000;
    const auto ran = line.value("ran");
    r.ran_ns = static_cast<std::uint64_t>(ran ? base_ + FixtureLine::to_time(*ran) : before);
    last_[r.tid] = in;
    r.out_ns = static_cast<std::uint64_t>(out);
    r.wake_ns = r.h.ts;
    describe(line, r);
    if (runs) r.flags |= WST_WAIT_RUNNING | WST_WAIT_OPEN;
    if (line.kind() == "ready") r.h.cpu = r.cpu_out = static_cast<std::uint32_t>(line.number(3));
    if (line.kind() == "wait") {
      r.flags |= WST_WAIT_BLOCKED;
      if (const auto wake = line.value("wake"))
        r.wake_ns = static_cast<std::uint64_t>(base_ + FixtureLine::to_time(*wake));
      r.h.cpu = r.cpu_out = static_cast<std::uint32_t>(line.number_or("cpu", 0));
    }
    if (const auto ino = line.value("file")) {
      r.ino = FixtureLine::to_number(*ino);
      r.dev = kDevice;
      r.generation = 7;
      r.file_kind = WST_FILE_REGULAR;
    } else {
      r.ino = line.number_or("ino", 0);
    }
    r.args[0] = line.number_or("arg0", 0);
    // A poll() on no file is a sleep.
    if (line.value("call") == "poll") r.args[1] = 1;
    if (line.value("call") == "select") r.args[0] = 1;
    r.waker_vec = static_cast<std::uint8_t>(line.number_or("vector", 0));
    if (const auto lock = line.value("lock")) {  // as glibc waits for a mutex
      r.nr = named(kCalls, "futex");
      r.args[0] = FixtureLine::to_number(*lock);
      r.args[1] = 0x80;
      r.args[2] = 2;
    }
    if (const auto owner = line.value("owner")) {
      r.flags |= WST_WAIT_FUTEX_WORD;
      r.futex_word = 2;
      r.futex_owner = static_cast<std::uint32_t>(FixtureLine::to_number(*owner));
    }
    r.major_faults = static_cast<std::uint32_t>(line.number_or("faults", 0));
    r.rdev = static_cast<std::uint32_t>(line.number_or("rdev", 0));
    if (const auto throttled = line.value("throttled")) {
      r.throttled_ns = static_cast<std::uint64_t>(FixtureLine::to_time(*throttled));
      r.flags |= WST_WAIT_QUOTA;
    }
    write(r);
  }

  void sums(const FixtureLine& line) {
    struct {
      wst_sums head;
      wst_sum sum;
    } r{};
    r.head = make<wst_sums>(WST_SUMS, at(line, 2));
    r.head.h.size = sizeof r;
    r.head.tid = static_cast<std::uint32_t>(line.number(0));
    r.head.tgid = pid_of(r.head.tid);
    r.head.from_ns = unsigned_at(line, 1);
    r.head.count = 1;
    r.sum.first_ns = r.head.from_ns + 1'000;
    r.sum.in_ns = r.sum.wake_ns = r.head.h.ts - 1'000;
    r.sum.out_ns = r.sum.in_ns - 5'000;
    r.sum.blocked_ns = static_cast<std::uint64_t>(line.time_or("blocked", 0));
    r.sum.runnable_ns = static_cast<std::uint64_t>(line.time_or("ready", 0));
    r.head.short_blocked_ns = r.sum.blocked_ns;
    r.head.short_runnable_ns = r.sum.runnable_ns;
    r.sum.count = static_cast<std::uint32_t>(line.number_or("count", 1));
    r.sum.object = line.number_or("ino", 0);
    r.sum.flags = WST_WAIT_BLOCKED;
    describe(line, r.sum);
    last_[r.head.tid] = at(line, 2);
    write_whole(std::as_bytes(std::span(&r, 1)));
  }
  void write_whole(std::span<const std::byte> bytes) { check(writer_.add_record(bytes)); }

  void slice(const FixtureLine& line) {
    auto r = make<wst_slice>(WST_SLICE, at(line, 2));
    r.h.cpu = static_cast<std::uint32_t>(line.number(0));
    r.start_ns = unsigned_at(line, 1);
    r.tid = r.tgid = static_cast<std::uint32_t>(line.number(3));
    set_text(r.comm, line.word(4));
    write(r);
  }

  void sample(const FixtureLine& line) {
    auto r = make<wst_sample>(WST_SAMPLE, at(line, 0));
    r.tid = static_cast<std::uint32_t>(line.number(1));
    r.tgid = pid_of(r.tid);
    r.nr = named(kCalls, line.value("call").value_or("none"));
    r.ip = line.number_or("ip", 0);
    write(r);
  }

  void endpoint(const FixtureLine& line) {
    auto r = make<wst_end>(WST_END, base_);
    r.tgid = static_cast<std::uint32_t>(line.number(0));
    r.ino = line.number(1);
    r.file_kind = named(kKinds, line.word(2));
    if (line.flag("listens")) r.flags |= WST_END_LISTENS;
    r.family = 2;
    r.local_port = static_cast<std::uint16_t>(line.number_or("local", 0));
    r.remote_port = static_cast<std::uint16_t>(line.number_or("remote", 0));
    const std::uint8_t peer[] = {10, 0, 0, 7};
    std::memcpy(r.remote_address, peer, sizeof peer);
    write(r);
  }

  void loss(const FixtureLine& line) {
    auto r = make<wst_loss>(WST_LOSS, at(line, 3));
    r.loss_class = named(kLosses, line.word(0));
    r.count = line.number(1);
    r.first_ns = unsigned_at(line, 2);
    r.last_ns = unsigned_at(line, 3);
    write(r);
  }

  /// Submits before and after a synchronise of the context.
  void gap(const FixtureLine& line) {
    const auto tid = static_cast<std::uint32_t>(line.number(2));
    const std::int64_t lo = at(line, 0);
    call(WST_API_SUBMIT, lo - 2'000, lo - 2'000, tid, 0);
    call(WST_API_SYNC_CONTEXT, lo - 1'000, lo, tid, 2);
    call(WST_API_SUBMIT, at(line, 1), at(line, 1), tid, 0);
  }

  static wst_api call_record(wst_api_kind kind, std::int64_t from, std::int64_t to) {
    auto r = make<wst_api>(WST_API, to);
    r.entry_ns = static_cast<std::uint64_t>(from);
    r.call = static_cast<std::uint16_t>(kind);
    r.stream = kind == WST_API_SYNC_CONTEXT ? WST_STREAM_LEGACY : kStream;
    return r;
  }
  void call(wst_api_kind kind, std::int64_t from, std::int64_t to, std::uint32_t tid,
            std::uint16_t symbol) {
    wst_api r = call_record(kind, from, to);
    r.tid = tid;
    r.tgid = pid_of(tid);
    r.symbol = symbol;
    write(r);
  }

  void api(const FixtureLine& line) {
    struct Call {
      wst_api_kind kind;
      bool long_one;  // has an entry and a return
      std::uint16_t symbol;
    };
    static const std::map<std::string, Call> kApi = {
        {"submit", {WST_API_SUBMIT, false, 0}},
        {"sync", {WST_API_SYNC_CONTEXT, true, 2}},
        {"stream_sync", {WST_API_SYNC_STREAM, true, 1}},
        {"query", {WST_API_QUERY_STREAM, false, 5}},
        {"copy", {WST_API_COPY, true, 3}},
        {"memory", {WST_API_MEMORY, true, 4}},
        {"context", {WST_API_CONTEXT, false, 0}}};
    const Call& kind = named(kApi, line.kind());
    wst_api r = call_record(kind.kind, at(line, 0), at(line, kind.long_one ? 1 : 0));
    r.tid = static_cast<std::uint32_t>(line.number(kind.long_one ? 2 : 1));
    r.tgid = pid_of(r.tid);
    if (line.kind() == "context") r.event = line.number(2);
    if (line.kind() == "query") r.h.ts += 1'000;
    if (line.flag("pending")) r.ret = WST_API_NOT_READY;
    r.stream = line.number_or("stream", r.stream);
    r.bytes = line.number_or("bytes", 0);
    r.symbol = static_cast<std::uint16_t>(line.number_or("symbol", kind.symbol));
    write(r);
  }

  recording::Writer& writer_;
  std::int64_t base_ = kStart;
  std::optional<std::int64_t> end_;
  std::map<std::uint32_t, std::uint32_t> pids_;
  std::map<std::uint32_t, std::int64_t> last_;  // when each thread came back to the CPU
};

int run(const std::string& fixture, const std::string& path) {
  std::ifstream in(fixture);
  if (!in) {
    std::fprintf(stderr, "cannot read %s\n", fixture.c_str());
    return 1;
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto writer = recording::Writer::create(path);
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().text.c_str());
    return 1;
  }
  int number = 0;
  try {
    Maker maker(*writer);
    maker.start();
    for (const ShiftedLine& line : expand(text)) {
      number = line.number;
      maker.add(FixtureLine(line.text), line.shift);
    }
    maker.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s:%d: %s\n", fixture.c_str(), number, error.what());
    return 1;
  }
  return 0;
}

}  // namespace

}  // namespace whystall::golden

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: make_recording FIXTURE OUT.wst\n", stderr);
    return 1;
  }
  return whystall::golden::run(argv[1], argv[2]);
}
