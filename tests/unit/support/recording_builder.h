// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "model/recording.h"

namespace whystall::testing {

using model::Pid;
using model::Tid;
using model::TimeNs;

constexpr TimeNs operator""_us(unsigned long long n) {
  return static_cast<TimeNs>(n) * 1'000;
}
constexpr TimeNs operator""_ms(unsigned long long n) {
  return static_cast<TimeNs>(n) * 1'000'000;
}

constexpr std::uint64_t kStream = 0x5000;
constexpr std::int32_t kNoCall = -1, kReadCall = 0, kPollCall = 7, kYieldCall = 24,
                       kNanosleepCall = 35, kFutexCall = 202, kEpollWaitCall = 232;

inline std::uint64_t unsigned_ns(TimeNs t) {
  return static_cast<std::uint64_t>(t);
}

template <std::size_t N>
void set_text(char (&to)[N], std::string_view text) {
  std::memset(to, 0, N);
  std::memcpy(to, text.data(), std::min(text.size(), N));
}

/// Says more about a wait just added; valid until the next one is.
class WaitRef {
 public:
  explicit WaitRef(wst_wait& wait) : wait_(wait) {}

  WaitRef& in_call(std::int32_t nr, std::uint64_t arg0 = 0, std::uint64_t arg1 = 0,
                   std::uint64_t arg2 = 0) {
    wait_.nr = nr;
    wait_.args[0] = arg0;
    wait_.args[1] = arg1;
    wait_.args[2] = arg2;
    return *this;
  }
  WaitRef& on_pipe(std::int32_t nr = kReadCall) {
    wait_.file_kind = WST_FILE_PIPE;
    return in_call(nr);
  }
  /// A cold read, counted as I/O.
  WaitRef& reading(const model::FileKey& file) {
    wait_.flags |= WST_WAIT_IOWAIT;
    return reading_without_iowait(file);
  }
  WaitRef& reading_without_iowait(const model::FileKey& file) {
    wait_.file_kind = WST_FILE_REGULAR;
    wait_.ino = file.ino;
    wait_.dev = file.dev;
    wait_.generation = file.generation;
    return in_call(kReadCall, 3);
  }
  /// Waits for a mutex as glibc does: FUTEX_WAIT_PRIVATE while the word is 2.
  WaitRef& for_lock(std::uint64_t address) { return in_call(kFutexCall, address, 0x80, 2); }
  /// Any other wait on a word, as a condition variable makes it.
  WaitRef& for_word(std::uint64_t address) { return in_call(kFutexCall, address, 0x89, 0); }
  WaitRef& on_socket(std::uint64_t ino, std::int32_t nr = kReadCall) {
    wait_.file_kind = WST_FILE_INET;
    wait_.ino = ino;
    return in_call(nr);
  }
  WaitRef& on_epoll() {
    wait_.file_kind = WST_FILE_EPOLL;
    return in_call(kEpollWaitCall);
  }
  WaitRef& in_softirq(std::uint8_t vector) {
    wait_.waker_vec = vector;
    return woken_in(WST_CTX_SOFTIRQ);
  }
  WaitRef& sleeping() { return in_call(kNanosleepCall); }

  WaitRef& woken_by(Tid tid, Pid pid, std::uint8_t context = WST_CTX_TASK) {
    wait_.waker_tid = tid;
    wait_.waker_tgid = pid;
    return woken_in(context);
  }
  WaitRef& woken_in(std::uint8_t context) {
    wait_.flags |= WST_WAIT_WOKEN;
    wait_.waker_context = context;
    return *this;
  }
  WaitRef& flag(std::uint32_t flags) {
    wait_.flags |= flags;
    return *this;
  }
  WaitRef& uninterruptible() {
    wait_.state = 2;
    return *this;
  }
  WaitRef& on_cpu(std::uint32_t cpu) {
    wait_.h.cpu = wait_.cpu_out = cpu;
    return *this;
  }

 private:
  wst_wait& wait_;
};

/// Makes recordings in memory. Threads must be named before they are used.
class RecordingBuilder {
 public:
  RecordingBuilder() { window(1_ms, 100_ms); }

  RecordingBuilder& window(TimeNs lo, TimeNs hi) {
    recording_.meta.start_ns = lo;
    recording_.meta.end_ns = hi;
    return *this;
  }
  RecordingBuilder& whystall_is(Pid pid) {
    recording_.meta.whystall_pid = pid;
    return *this;
  }
  RecordingBuilder& task(Tid tid, Pid pid, std::string comm, bool kernel = false) {
    recording_.tasks[tid] = {tid, pid, std::move(comm), !kernel, kernel};
    return *this;
  }
  model::FileKey file(std::uint64_t ino, std::string path, std::string fs_type = "ext4") {
    const model::FileKey key{ino, 8u << 20 | 1u, 7};
    recording_.files[key] = {std::move(path), std::move(fs_type), false, false};
    return key;
  }

  /// On the CPU from `ran`, off it and blocked from `out`, woken at `wake`, on the CPU again at
  /// `in`.
  WaitRef blocked(Tid tid, TimeNs ran, TimeNs out, TimeNs wake, TimeNs in) {
    wst_wait& w = add_wait(tid, ran, out, in);
    w.wake_ns = unsigned_ns(wake);
    w.flags = WST_WAIT_BLOCKED;
    return WaitRef(w);
  }
  /// The same, on the CPU at the moment of the wake-up.
  WaitRef blocked(Tid tid, TimeNs ran, TimeNs out, TimeNs in) {
    return blocked(tid, ran, out, in, in);
  }
  /// On the CPU from `ran`, preempted at `out`, on it again at `in`.
  WaitRef runnable(Tid tid, TimeNs ran, TimeNs out, TimeNs in, std::uint32_t cpu = 0) {
    return WaitRef(add_wait(tid, ran, out, in)).on_cpu(cpu);
  }
  /// Still on the CPU when the recording ended.
  WaitRef running(Tid tid, TimeNs ran, TimeNs until) {
    return WaitRef(add_wait(tid, ran, until, until)).flag(WST_WAIT_RUNNING | WST_WAIT_OPEN);
  }

  RecordingBuilder& slice(std::uint32_t cpu, TimeNs lo, TimeNs hi, Pid pid, std::string_view comm) {
    wst_slice s{};
    s.h = header<wst_slice>(WST_SLICE, hi);
    s.h.cpu = cpu;
    s.start_ns = unsigned_ns(lo);
    s.tid = s.tgid = pid;
    set_text(s.comm, comm);
    recording_.slices.push_back(s);
    return *this;
  }

  RecordingBuilder& submit(TimeNs at, Tid tid, std::uint64_t stream = kStream) {
    return add_api(WST_API_SUBMIT, at, at, tid, stream, 0, 0);
  }
  RecordingBuilder& sync_stream(TimeNs entry, TimeNs at, Tid tid, std::uint64_t stream = kStream,
                                int result = 0) {
    return add_api(WST_API_SYNC_STREAM, entry, at, tid, stream, 0, result);
  }
  RecordingBuilder& sync_context(TimeNs entry, TimeNs at, Tid tid, int result = 0) {
    return add_api(WST_API_SYNC_CONTEXT, entry, at, tid, WST_STREAM_LEGACY, 0, result);
  }
  RecordingBuilder& set_context(TimeNs at, Tid tid, std::uint64_t context) {
    return add_api(WST_API_CONTEXT, at, at, tid, WST_STREAM_LEGACY, context, 0);
  }
  RecordingBuilder& record_event(TimeNs at, Tid tid, std::uint64_t event,
                                 std::uint64_t stream = kStream) {
    return add_api(WST_API_RECORD_EVENT, at, at, tid, stream, event, 0);
  }
  RecordingBuilder& sync_event(TimeNs entry, TimeNs at, Tid tid, std::uint64_t event,
                               int result = 0) {
    return add_api(WST_API_SYNC_EVENT, entry, at, tid, WST_STREAM_LEGACY, event, result);
  }
  /// A copy to the host: recorded as a submit at its entry and as a proof at its return.
  RecordingBuilder& copy_to_host(TimeNs entry, TimeNs at, Tid tid, std::uint64_t stream = kStream) {
    submit(entry, tid, stream);
    return add_api(WST_API_SYNC_COPY, entry, at, tid, stream, 0, 0);
  }
  /// Asks whether the stream's or the event's work is done.
  RecordingBuilder& query_stream(TimeNs at, Tid tid, bool done, std::uint64_t stream = kStream) {
    return add_api(WST_API_QUERY_STREAM, at, at + 1'000, tid, stream, 0,
                   done ? WST_API_DONE : WST_API_NOT_READY);
  }
  RecordingBuilder& query_event(TimeNs at, Tid tid, std::uint64_t event, bool done) {
    return add_api(WST_API_QUERY_EVENT, at, at + 1'000, tid, WST_STREAM_LEGACY, event,
                   done ? WST_API_DONE : WST_API_NOT_READY);
  }
  RecordingBuilder& wait_event(TimeNs at, Tid tid, std::uint64_t event, std::uint64_t stream) {
    return add_api(WST_API_WAIT_EVENT, at, at, tid, stream, event, 0);
  }
  RecordingBuilder& create_stream(TimeNs at, Tid tid, std::uint64_t stream, std::uint64_t flags) {
    return add_api(WST_API_STREAM_CREATE, at, at, tid, stream, flags, 0);
  }
  RecordingBuilder& destroy_stream(TimeNs at, Tid tid, std::uint64_t stream) {
    return add_api(WST_API_STREAM_DESTROY, at, at, tid, stream, 0, 0);
  }
  RecordingBuilder& destroy_event(TimeNs at, Tid tid, std::uint64_t event) {
    return add_api(WST_API_EVENT_DESTROY, at, at, tid, WST_STREAM_LEGACY, event, 0);
  }
  /// A call that took long: WST_API_COPY or WST_API_MEMORY.
  RecordingBuilder& long_call(wst_api_kind kind, TimeNs entry, TimeNs at, Tid tid,
                              std::uint64_t bytes = 0) {
    add_api(kind, entry, at, tid, kStream, 0, 0);
    recording_.api.back().bytes = bytes;
    return *this;
  }
  /// Submits from `first` to `last`, close together.
  RecordingBuilder& run_of_submits(TimeNs first, TimeNs last, std::uint32_t count, Tid tid,
                                   std::uint64_t stream = kStream) {
    add_api(WST_API_SUBMIT, first, first, tid, stream, 0, 0);
    recording_.api.back().last_ns = unsigned_ns(last);
    recording_.api.back().count = count;
    return *this;
  }
  RecordingBuilder& sample(TimeNs at, Tid tid, std::int32_t nr = kNoCall) {
    wst_sample s{};
    s.h = header<wst_sample>(WST_SAMPLE, at);
    s.tid = tid;
    s.tgid = pid_of(tid);
    s.nr = nr;
    recording_.samples.push_back(s);
    return *this;
  }
  /// Process `pid` listens on a socket of this inode.
  RecordingBuilder& listens(Pid pid, std::uint64_t ino, std::uint16_t port) {
    return add_end(pid, ino, port, 0, WST_END_LISTENS);
  }
  RecordingBuilder& connection(Pid pid, std::uint64_t ino, std::uint16_t local,
                               std::uint16_t remote) {
    return add_end(pid, ino, local, remote, 0);
  }

  /// Calls that prove the device empty from `lo` until `tid` submits at `hi`.
  RecordingBuilder& proven_gap(TimeNs lo, TimeNs hi, Tid tid) {
    return submit(lo - 2_us, tid).sync_context(lo - 1_us, lo, tid).submit(hi, tid);
  }

  RecordingBuilder& loss(std::uint64_t count, std::uint32_t loss_class, TimeNs first = 0,
                         TimeNs last = 0) {
    wst_loss l{};
    l.h = header<wst_loss>(WST_LOSS, recording_.meta.end_ns);
    l.first_ns = unsigned_ns(first);
    l.last_ns = unsigned_ns(last);
    l.count = count;
    l.loss_class = loss_class;
    recording_.losses.push_back(l);
    return *this;
  }

  model::Recording& raw() { return recording_; }

  /// In the order that a loaded recording has.
  model::Recording build() const {
    model::Recording r = recording_;
    auto by_time = [](const auto& a, const auto& b) { return a.h.ts < b.h.ts; };
    std::stable_sort(r.waits.begin(), r.waits.end(), by_time);
    std::stable_sort(r.slices.begin(), r.slices.end(), by_time);
    std::stable_sort(r.api.begin(), r.api.end(), by_time);
    return r;
  }

 private:
  template <typename Record>
  static wst_hdr header(std::uint8_t kind, TimeNs at) {
    return {sizeof(Record), kind, 0, 0, unsigned_ns(at)};
  }
  Pid pid_of(Tid tid) const {
    const auto task = recording_.tasks.find(tid);
    return task == recording_.tasks.end() ? tid : task->second.pid;
  }
  wst_wait& add_wait(Tid tid, TimeNs ran, TimeNs out, TimeNs in) {
    wst_wait w{};
    w.h = header<wst_wait>(WST_WAIT, in);
    w.ran_ns = unsigned_ns(ran);
    w.out_ns = unsigned_ns(out);
    w.tid = tid;
    w.tgid = pid_of(tid);
    w.nr = w.waker_nr = kNoCall;
    recording_.waits.push_back(w);
    return recording_.waits.back();
  }
  RecordingBuilder& add_api(wst_api_kind call, TimeNs entry, TimeNs at, Tid tid,
                            std::uint64_t stream, std::uint64_t event, int result) {
    wst_api a{};
    a.h = header<wst_api>(WST_API, at);
    a.entry_ns = unsigned_ns(entry);
    a.stream = stream;
    a.event = event;
    a.tid = tid;
    a.tgid = pid_of(tid);
    a.call = static_cast<std::uint16_t>(call);
    a.ret = result;
    recording_.api.push_back(a);
    return *this;
  }

  RecordingBuilder& add_end(Pid pid, std::uint64_t ino, std::uint16_t local, std::uint16_t remote,
                            std::uint32_t flags) {
    wst_end e{};
    e.h = header<wst_end>(WST_END, recording_.meta.end_ns);
    e.ino = ino;
    e.tgid = pid;
    e.file_kind = WST_FILE_INET;
    e.local_port = local;
    e.remote_port = remote;
    e.flags = flags;
    recording_.ends.push_back(e);
    return *this;
  }

  model::Recording recording_;
};

}  // namespace whystall::testing
