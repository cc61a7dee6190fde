// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <random>
#include <set>

#include "support/recording_builder.h"

namespace whystall::testing {

/// Recordings of a few threads that wait, wake each other, run and call the driver at random: some
/// of them could have happened, some contradict themselves.
class RandomRecording {
 public:
  explicit RandomRecording(std::uint64_t seed) : random_(seed) {}

  model::Recording make() {
    builder_ = RecordingBuilder();
    processes_ = 1 + pick(2);
    threads_ = 1 + static_cast<Tid>(pick(6));
    for (Tid i = 0; i < threads_; i++) {
      if (pick(8)) builder_.task(kFirst + i, pid_of(i), "t" + std::to_string(i), pick(12) == 0);
    }
    for (std::uint64_t i = 1; i <= 4; i++) {
      if (pick(4))
        files_.push_back(builder_.file(i, "/data/" + std::to_string(i), pick(2) ? "ext4" : "fuse"));
      else
        files_.push_back({i, 1, 0});
    }
    if (pick(3) == 0) builder_.whystall_is(kFirst + 50);
    consistent_ = pick(3) > 0;
    for (Tid i = 0; i < threads_; i++) consistent_ ? live(kFirst + i) : contradict(kFirst + i);
    for (std::size_t i = pick(20); i > 0; i--) {
      const TimeNs lo = any_time();
      builder_.slice(static_cast<std::uint32_t>(pick(3)), lo,
                     pick(5) ? lo + some_time() : any_time(),
                     kFirst + 48 + static_cast<Pid>(pick(4)), "hog");
    }
    for (std::size_t i = pick(40); i > 0; i--) call();
    if (pick(4) == 0) builder_.listens(kFirst, 1 + pick(3), 80).connection(kFirst, 4, 80, 9);
    for (std::size_t i = pick(10); i > 0; i--)
      builder_.sample(any_time(), any_thread(), pick(2) ? kYieldCall : kNoCall);
    model::Recording r = builder_.build();
    drop_equal_times(r.waits);
    drop_equal_times(r.slices);
    drop_equal_times(r.api);
    files_.clear();
    return r;
  }

  std::mt19937_64& random() { return random_; }
  /// Whether the waits of the last one could have happened.
  bool consistent() const { return consistent_; }

 private:
  static constexpr Tid kFirst = 100;

  std::size_t pick(std::size_t n) { return random_() % n; }
  /// Around the window, which is 1 to 100 ms.
  TimeNs any_time() { return static_cast<TimeNs>(pick(110'000'000)); }
  /// From a nanosecond to 10 ms, short ones as often as long ones.
  TimeNs some_time() { return 1 + static_cast<TimeNs>(pick(std::size_t{1} << (pick(24)))); }
  Pid pid_of(Tid index) const { return kFirst + (processes_ == 2 ? index % 2 : 0); }
  Tid any_thread() { return kFirst + static_cast<Tid>(pick(threads_ + 1)); }

  /// Stays one after the other.
  void live(Tid tid) {
    TimeNs at = some_time();
    while (at < 105'000'000 && pick(30)) {
      const TimeNs ran = pick(10) ? at : 0, out = at + some_time(), wake = out + some_time();
      at = pick(2) ? wake : wake + some_time();
      WaitRef wait =
          pick(5) ? builder_.blocked(tid, ran, out, wake, at)
                  : builder_.runnable(tid, ran, out, at, static_cast<std::uint32_t>(pick(3)));
      decorate(wait);
    }
  }
  void contradict(Tid tid) {
    for (std::size_t i = pick(20); i > 0; i--) {
      WaitRef wait = builder_.blocked(tid, any_time(), any_time(), any_time(), any_time());
      wait.flag(static_cast<std::uint32_t>(random_() & 0xfff));
      decorate(wait);
    }
  }
  void decorate(WaitRef& wait) {
    constexpr std::int32_t kCalls[] = {kNoCall,        kReadCall,  kPollCall,
                                       kNanosleepCall, kFutexCall, kEpollWaitCall};
    switch (pick(8)) {
      case 5:
        wait.on_socket(1 + pick(5));
        break;
      case 6:
        wait.on_epoll();
        break;
      case 0:
        wait.reading(files_[pick(files_.size())]);
        break;
      case 1:
        wait.reading_without_iowait(files_[pick(files_.size())]);
        break;
      case 2:
        wait.for_lock(0x1000 + 8 * pick(2));
        break;
      case 3:
        wait.for_word(0x1000 + 8 * pick(2));
        break;
      case 4:
        wait.on_pipe();
        break;
      default:
        wait.in_call(kCalls[pick(std::size(kCalls))], pick(2), pick(2));
        break;
    }
    if (pick(5)) {
      const Tid waker = any_thread();
      wait.woken_by(waker, pid_of(waker - kFirst),
                    static_cast<std::uint8_t>(pick(3) ? 0 : pick(6)));
    }
    constexpr std::uint32_t kRare[] = {WST_WAIT_OPEN, WST_WAIT_BORN, WST_WAIT_FREEZE,
                                       WST_WAIT_NO_FILE};
    if (pick(10) == 0) wait.flag(kRare[pick(std::size(kRare))]);
    wait.on_cpu(static_cast<std::uint32_t>(pick(3)));
  }
  void call() {
    const Tid tid = any_thread();
    const TimeNs entry = any_time(), at = pick(20) ? entry + some_time() : any_time();
    constexpr std::uint64_t kStreams[] = {kStream, kStream, WST_STREAM_LEGACY,
                                          WST_STREAM_PER_THREAD, WST_STREAM_UNKNOWN};
    const std::uint64_t stream = kStreams[pick(pick(2) ? 2 : std::size(kStreams))];
    const int result = pick(10) ? 0 : 700;
    switch (pick(16)) {
      case 7:
        builder_.query_stream(entry, tid, pick(2), stream);
        break;
      case 8:
        builder_.query_event(entry, tid, pick(2), pick(2));
        break;
      case 9:
        builder_.wait_event(entry, tid, pick(2), stream);
        break;
      case 10:
        builder_.create_stream(entry, tid, kStream, pick(2));
        break;
      case 11:
        pick(2) ? builder_.destroy_stream(entry, tid, kStream)
                : builder_.destroy_event(entry, tid, pick(2));
        break;
      case 12:
        builder_.long_call(pick(2) ? WST_API_MEMORY : WST_API_COPY, entry, at, tid, random_());
        break;
      case 13:
        builder_.run_of_submits(entry, at, static_cast<std::uint32_t>(pick(5)), tid, stream);
        break;
      case 0:
      case 1:
        builder_.submit(entry, tid, stream);
        break;
      case 2:
        builder_.sync_stream(entry, at, tid, stream, result);
        break;
      case 3:
        builder_.sync_context(entry, at, tid, result);
        break;
      case 4:
        builder_.record_event(entry, tid, pick(2), stream);
        break;
      case 5:
        builder_.sync_event(entry, at, tid, pick(2), result);
        break;
      default:
        builder_.copy_to_host(entry, at, tid, stream);
        break;
    }
  }
  template <typename Record>
  static void drop_equal_times(std::vector<Record>& records) {
    std::set<std::uint64_t> seen;
    std::erase_if(records, [&](const Record& r) { return !seen.insert(r.h.ts).second; });
  }

  std::mt19937_64 random_;
  RecordingBuilder builder_;
  bool consistent_ = true;
  std::size_t processes_ = 1;
  Tid threads_ = 1;
  std::vector<model::FileKey> files_;
};

}  // namespace whystall::testing
