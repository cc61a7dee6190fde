// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "support/kernel_side.h"
#include "support/random_device.h"

namespace whystall::testing {

/// What a random program is like, drawn from its seed.
struct Traits {
  bool late = false;  // the recording begins in the middle
  bool lossy = false;
  bool syncs_often = false;
  bool fills_queues = false;  // a stream takes so many launches, then the next one waits
  bool stumbles = false;      // threads lose their CPU, or wait for a lock, within calls
  bool moves_events = false;  // records them again while others use them
  std::size_t threads = 1, contexts = 1, streams = 1;
  bool one_device = false;  // for all contexts
  TimeNs length = 0, attach = 0;
};

struct Call {
  std::size_t thread;
  std::uint16_t kind;
  TimeNs entry, effect = 0, end = 0;
  std::uint64_t stream = 0, event = 0;
  int ret = 0;
};

/// A few threads that make random calls, as the real time of calls is: an entry, later an effect,
/// then the return; others' come in between.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed)
      : random_(seed),
        traits_(draw()),
        device_(pick(2) == 0),
        kernel_(kPid, {traits_.attach, traits_.attach + traits_.length}, losses()) {}

  void run() {
    start();
    const TimeNs until = traits_.attach + traits_.length;
    TimeNs next_dump = traits_.attach + 1'000'000, next_sample = traits_.attach + 300'000;
    for (;;) {
      std::size_t next = 0;
      for (std::size_t i = 1; i < threads_.size(); i++) {
        const bool tie = threads_[i].next == threads_[next].next && pick(2) == 0;
        if (threads_[i].next < threads_[next].next || tie) next = i;
      }
      const TimeNs now = threads_[next].next;
      for (; next_sample < std::min(now, until); next_sample += 300'000)
        kernel_.interrupt(tid(pick(threads_.size())), next_sample);
      for (; next_dump < std::min(now, until); next_dump += 5'000'000) kernel_.dump(next_dump);
      if (now > until) break;
      step(next);
    }
    kernel_.dump(until);
  }

  const Traits& traits() const { return traits_; }
  const ModelDevice& device() const { return device_; }
  KernelSide& kernel() { return kernel_; }
  const std::vector<Call>& calls() const { return calls_; }
  /// The process's number for the device of a context.
  std::int64_t device_of(std::size_t context) const {
    return traits_.one_device ? 0 : static_cast<std::int64_t>(context);
  }

  static constexpr model::Pid kPid = 100;
  static Tid tid(std::size_t thread) { return kPid + static_cast<Tid>(thread); }

 private:
  enum class Phase : std::uint8_t { kEnter, kEffect, kReturn };
  struct Thread {
    TimeNs next = 0;
    Phase phase = Phase::kEnter;
    std::size_t context = 0;
    bool asked_device = false, has_context = false;
    std::size_t call = 0;  // of calls_
    std::size_t stream = 0, event = 0;
    std::size_t repeat = 0;  // the same call so many times more
    bool close = false;      // these come close together
    TimeNs target = 0;       // when the device is done with what it waits for
    std::uint64_t stolen = 0;
  };

  std::size_t pick(std::size_t n) { return random_() % n; }
  bool once_in(std::size_t n) { return pick(n) == 0; }
  TimeNs between(TimeNs lo, TimeNs hi) {
    return lo + static_cast<TimeNs>(pick(static_cast<std::size_t>(hi - lo + 1)));
  }

  Traits draw() {
    Traits t;
    t.late = once_in(3);
    t.lossy = once_in(4);
    t.syncs_often = once_in(2);
    t.fills_queues = once_in(25);
    t.stumbles = once_in(3);
    t.moves_events = once_in(3);
    t.threads = 1 + pick(4);
    t.contexts = once_in(4) ? 2 : 1;
    t.streams = 1 + pick(5);
    t.one_device = once_in(3);
    t.length = between(20'000'000, 60'000'000);
    t.attach = 1'000'000'000;
    return t;
  }
  std::vector<Interval> losses() {
    std::vector<Interval> losses;
    for (std::size_t i = traits_.lossy ? 1 + pick(3) : 0; i > 0; i--) {
      const TimeNs lo = traits_.attach + between(0, traits_.length);
      losses.push_back({lo, lo + between(100, once_in(2) ? 20'000 : 2'000'000)});
    }
    return losses;
  }

  void start() {
    // Late: it has been at work for some time.
    const TimeNs begin = traits_.attach + (traits_.late ? -between(1, 10'000'000) : 1'000);
    for (std::size_t c = 0; c < traits_.contexts; c++)
      device_.add_stream({WST_STREAM_LEGACY, c, ModelDevice::Kind::kLegacy});
    for (std::size_t i = 0; i < traits_.threads; i++) {
      Thread thread;
      thread.next = begin + (i ? between(0, 3'000'000) : 0);
      thread.context = pick(traits_.contexts);
      threads_.push_back(thread);
      kernel_.start(tid(i), traits_.late ? begin : traits_.attach);
      for (std::size_t c = 0; c < traits_.contexts; c++)
        device_.add_stream({WST_STREAM_PER_THREAD, c, ModelDevice::Kind::kPerThread, i});
    }
  }

  void step(std::size_t i) {
    Thread& t = threads_[i];
    switch (t.phase) {
      case Phase::kEnter:
        return enter(i);
      case Phase::kEffect:
        return take_effect(i);
      case Phase::kReturn:
        return leave(i);
    }
  }

  Call& call_of(const Thread& t) { return calls_[t.call]; }

  static bool is_sync(std::uint16_t kind) {
    return kind == WST_API_SYNC_STREAM || kind == WST_API_SYNC_CONTEXT ||
           kind == WST_API_SYNC_EVENT || kind == WST_API_SYNC_COPY;
  }
  static bool is_query(std::uint16_t kind) {
    return kind == WST_API_QUERY_STREAM || kind == WST_API_QUERY_EVENT;
  }
  static bool is_timed(std::uint16_t kind) {
    return is_sync(kind) || is_query(kind) || kind == WST_API_COPY || kind == WST_API_MEMORY ||
           kind == WST_API_STREAM_CREATE || kind == WST_API_CONTEXT_NEW ||
           kind == WST_API_CONTEXT_DEVICE;
  }
  static bool names_stream(std::uint16_t kind) {
    return kind == WST_API_SUBMIT || kind == WST_API_COPY || kind == WST_API_SYNC_COPY ||
           kind == WST_API_SYNC_STREAM || kind == WST_API_QUERY_STREAM ||
           kind == WST_API_RECORD_EVENT || kind == WST_API_WAIT_EVENT ||
           kind == WST_API_STREAM_DESTROY;
  }
  static bool names_event(std::uint16_t kind) {
    return kind == WST_API_RECORD_EVENT || kind == WST_API_WAIT_EVENT ||
           kind == WST_API_SYNC_EVENT || kind == WST_API_QUERY_EVENT ||
           kind == WST_API_EVENT_DESTROY;
  }

  void enter(std::size_t i);
  bool choose(std::size_t i, std::uint16_t kind);
  std::uint16_t some_kind();
  bool choose_stream(std::size_t i, bool to_submit);
  bool in_use(std::size_t i, bool stream, std::size_t id) const;
  void take_effect(std::size_t i);
  void affect(std::size_t i);
  void watch(std::size_t i);
  void leave(std::size_t i);
  void create_stream(std::size_t i);
  TimeNs think(std::size_t i, TimeNs now);
  TimeNs stay(std::size_t i, TimeNs out, TimeNs wake, TimeNs in, std::int32_t nr,
              std::uint8_t context);
  static std::uint64_t handle_of(std::size_t context) { return 0xc000 + 0x100 * context; }

  std::mt19937_64 random_;
  Traits traits_;
  ModelDevice device_;
  KernelSide kernel_;
  std::vector<Thread> threads_;
  std::vector<Call> calls_;
  std::vector<std::uint64_t> free_streams_, free_events_;
  std::uint64_t next_handle_ = 0x5000;
};

}  // namespace whystall::testing
