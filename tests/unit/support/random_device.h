// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/recording.h"

namespace whystall::testing {

using model::TimeNs;

/// Contexts, streams and events as CUDA defines them, in virtual time: an operation's end is known
/// when it is enqueued. Where the rules leave it open whether something that is no operation (an
/// event's record, a wait, a synchronise) joins the legacy stream with the blocking ones, `strict`
/// says that it does.
class ModelDevice {
 public:
  enum class Kind : std::uint8_t { kBlocking, kNonBlocking, kLegacy, kPerThread };
  struct Stream {
    std::uint64_t handle = 0;
    std::size_t context = 0;
    Kind kind = Kind::kBlocking;
    std::size_t owner = 0;  // of a per-thread one
    bool alive = true;
    TimeNs tail = 0;
    std::vector<TimeNs> ends = {};  // of its operations, by time
    TimeNs named = 0;               // when a record of the recording first named it; 0: never
  };
  struct Event {
    std::uint64_t handle = 0;
    std::size_t context = 0;
    bool alive = true;
    TimeNs done = 0;
  };
  struct Op {
    TimeNs entry, start, end;
    std::size_t stream;
    std::size_t context;
  };
  static constexpr std::size_t kQueue = 1024;

  explicit ModelDevice(bool strict) : strict_(strict) {}

  std::size_t add_stream(Stream stream) {
    streams.push_back(std::move(stream));
    return streams.size() - 1;
  }

  /// When the stream takes one more; 0: now.
  TimeNs room_at(std::size_t id, TimeNs now) const {
    const auto& ends = streams[id].ends;
    if (ends.size() < kQueue) return 0;
    const TimeNs until = ends[ends.size() - kQueue];
    return until > now ? until : 0;
  }

  void enqueue(std::size_t id, TimeNs entry, TimeNs ready, TimeNs length) {
    Stream& stream = streams[id];
    const TimeNs start = std::max({ready, stream.tail, joined(stream)});
    stream.tail = start + length;
    stream.ends.push_back(stream.tail);
    ops.push_back({entry, start, stream.tail, id, stream.context});
  }

  /// When what has been asked of the stream so far is done.
  TimeNs done(std::size_t id) const {
    const Stream& stream = streams[id];
    return strict_ ? std::max(stream.tail, joined(stream)) : stream.tail;
  }
  TimeNs context_done(std::size_t context) const {
    TimeNs at = 0;
    for (const Stream& s : streams) at = s.context == context ? std::max(at, s.tail) : at;
    return at;
  }

  void record(std::size_t event, std::size_t stream) { events[event].done = done(stream); }
  void wait(std::size_t stream, std::size_t event) {
    Stream& s = streams[stream];
    s.tail = std::max(s.tail, events[event].done);
    if (strict_) s.tail = std::max(s.tail, joined(s));
  }

  std::vector<Stream> streams;
  std::vector<Event> events;
  std::vector<Op> ops;

 private:
  TimeNs joined(const Stream& stream) const {
    TimeNs at = 0;
    if (stream.kind == Kind::kNonBlocking) return at;
    const bool legacy = stream.kind == Kind::kLegacy;
    for (const Stream& s : streams) {
      if (s.context != stream.context || s.kind == Kind::kNonBlocking) continue;
      if ((s.kind == Kind::kLegacy) != legacy) at = std::max(at, s.tail);
    }
    return at;
  }

  bool strict_;
};

}  // namespace whystall::testing
