// SPDX-License-Identifier: Apache-2.0
#include "support/random_program.h"

namespace whystall::testing {

namespace {

constexpr std::int32_t kPoll = 7, kFutex = 202, kSleep = 35;

}  // namespace

/// Off the CPU; wake 0: it stayed runnable. Returns `in`.
TimeNs RandomProgram::stay(std::size_t i, TimeNs out, TimeNs wake, TimeNs in, std::int32_t nr,
                           std::uint8_t context) {
  wst_wait w{};
  w.nr = nr;
  w.waker_nr = -1;
  if (wake) {
    w.flags = WST_WAIT_BLOCKED | WST_WAIT_WOKEN;
    w.wake_ns = static_cast<std::uint64_t>(wake);
    w.waker_context = context;
    w.waker_tid = context == WST_CTX_TASK ? 99 : 0;
  }
  kernel_.stay(tid(i), out, in, w);
  return in;
}

/// Until when the thread does something else after a call.
TimeNs RandomProgram::think(std::size_t i, TimeNs now) {
  const std::size_t kind = pick(20);
  if (kind < 12) return now + between(150, 3'000);
  if (kind < 17) return now + between(5'000, 40'000);
  TimeNs until = now + between(100'000, traits_.syncs_often ? 3'000'000 : 1'000'000);
  if (once_in(2)) {
    const TimeNs out = now + between(500, 20'000);
    until = stay(i, out, until - 5'000, until - 1'000, kSleep, WST_CTX_TIMER) + 1'000;
  }
  return until;
}

std::uint16_t RandomProgram::some_kind() {
  const std::size_t n = pick(100);
  const std::size_t syncs = traits_.syncs_often ? 30 : 6;
  if (n < syncs) {
    constexpr std::uint16_t kinds[] = {WST_API_SYNC_STREAM, WST_API_SYNC_CONTEXT,
                                       WST_API_SYNC_CONTEXT, WST_API_SYNC_EVENT, WST_API_SYNC_COPY};
    return kinds[pick(5)];
  }
  if (n < 60) return WST_API_SUBMIT;
  if (n < 66) return WST_API_RECORD_EVENT;
  if (n < 72) return WST_API_WAIT_EVENT;
  if (n < 78) return WST_API_QUERY_EVENT;
  if (n < 84) return WST_API_QUERY_STREAM;
  if (n < 88) return WST_API_COPY;
  if (n < 91) return WST_API_MEMORY;
  if (n < 94) return WST_API_STREAM_CREATE;
  if (n < 96) return WST_API_STREAM_DESTROY;
  if (n < 98) return WST_API_EVENT_DESTROY;
  return WST_API_CONTEXT;
}

/// Whether another thread is within a call on it.
bool RandomProgram::in_use(std::size_t i, bool stream, std::size_t id) const {
  for (std::size_t other = 0; other < threads_.size(); other++) {
    const Thread& t = threads_[other];
    if (other == i || (t.phase == Phase::kEnter && t.repeat == 0)) continue;
    const std::uint16_t kind = calls_[t.call].kind;
    if (stream ? names_stream(kind) && t.stream == id : names_event(kind) && t.event == id)
      return true;
  }
  return false;
}

/// Work goes to streams of the thread's context; others can be asked about.
bool RandomProgram::choose_stream(std::size_t i, bool to_submit) {
  std::vector<std::size_t> usable;
  for (std::size_t s = 0; s < device_.streams.size(); s++) {
    const auto& stream = device_.streams[s];
    const bool any = stream.kind == ModelDevice::Kind::kBlocking ||
                     stream.kind == ModelDevice::Kind::kNonBlocking;
    if (!stream.alive) continue;
    if (stream.context != threads_[i].context && (to_submit || !any)) continue;
    if (stream.kind == ModelDevice::Kind::kPerThread && stream.owner != i) continue;
    const bool default_one = !any;
    if (default_one && device_.streams.size() > 2 + traits_.threads * traits_.contexts && pick(3))
      continue;
    usable.push_back(s);
  }
  if (usable.empty()) return false;
  threads_[i].stream = usable[pick(usable.size())];
  return true;
}

bool RandomProgram::choose(std::size_t i, std::uint16_t kind) {
  Thread& t = threads_[i];
  t.repeat = 0;
  t.close = false;
  if (kind == WST_API_CONTEXT) {
    if (traits_.contexts < 2 && pick(4)) return false;
    t.context = pick(traits_.contexts);
    return true;
  }
  if (kind == WST_API_STREAM_CREATE) {
    std::size_t alive = 0;
    for (const auto& s : device_.streams) alive += s.alive;
    return alive < traits_.streams + traits_.contexts * (1 + traits_.threads);
  }
  const bool submits = kind == WST_API_SUBMIT || kind == WST_API_COPY ||
                       kind == WST_API_SYNC_COPY || kind == WST_API_RECORD_EVENT;
  if (names_stream(kind) && !choose_stream(i, submits)) return false;
  if (kind == WST_API_STREAM_DESTROY) {
    const auto& stream = device_.streams[t.stream];
    const bool default_one =
        stream.kind == ModelDevice::Kind::kLegacy || stream.kind == ModelDevice::Kind::kPerThread;
    return !default_one && !in_use(i, true, t.stream);
  }
  // Nobody else may be destroying it.
  if (names_stream(kind)) {
    for (const Thread& other : threads_) {
      if (&other != &t && other.phase != Phase::kEnter && other.stream == t.stream &&
          calls_[other.call].kind == WST_API_STREAM_DESTROY)
        return false;
    }
  }
  if (names_event(kind)) {
    std::vector<std::size_t> alive;
    for (std::size_t e = 0; e < device_.events.size(); e++) {
      const bool same = device_.events[e].context == t.context || kind != WST_API_RECORD_EVENT;
      if (device_.events[e].alive && same) alive.push_back(e);
    }
    if (kind == WST_API_RECORD_EVENT && alive.size() < 5 && once_in(2)) {
      std::uint64_t handle = 0xe000 + 0x10 * device_.events.size();
      if (!free_events_.empty() && pick(3)) {
        handle = free_events_.back();
        free_events_.pop_back();
      }
      device_.events.push_back({handle, t.context});
      alive = {device_.events.size() - 1};
    }
    if (alive.empty()) return false;
    t.event = alive[pick(alive.size())];
    const bool changes =
        kind == WST_API_EVENT_DESTROY || (kind == WST_API_RECORD_EVENT && !traits_.moves_events);
    if (changes && in_use(i, false, t.event)) return false;
    for (const Thread& other : threads_) {
      if (&other == &t || other.phase == Phase::kEnter || other.event != t.event) continue;
      const std::uint16_t theirs = calls_[other.call].kind;
      if (theirs == WST_API_EVENT_DESTROY) return false;
      if (theirs == WST_API_RECORD_EVENT && !traits_.moves_events) return false;
    }
  }
  if (is_query(kind)) t.repeat = once_in(2) ? pick(40) : 0;
  if (kind == WST_API_SUBMIT) {
    t.repeat = pick(2) ? pick(20) : 0;
    if (traits_.fills_queues && once_in(40)) t.repeat = 1'500;
  }
  t.close = true;
  return true;
}

void RandomProgram::enter(std::size_t i) {
  Thread& t = threads_[i];
  const TimeNs now = t.next;
  Call call{i, WST_API_CONTEXT, now};
  if (!t.has_context) {
    // A program learns the device of its context before it uses it.
    if (!t.asked_device && pick(4))
      call.kind = WST_API_CONTEXT_DEVICE;
    else
      t.has_context = true;
    t.asked_device = true;
  } else if (t.repeat > 0) {
    t.repeat--;
    call.kind = calls_[t.call].kind;
  } else {
    std::uint16_t kind = some_kind();
    while (!choose(i, kind)) kind = some_kind();
    call.kind = kind;
  }
  if (names_stream(call.kind)) call.stream = device_.streams[t.stream].handle;
  if (names_event(call.kind)) call.event = device_.events[t.event].handle;
  if (call.kind == WST_API_CONTEXT || call.kind == WST_API_CONTEXT_DEVICE)
    call.event = handle_of(t.context);
  if (!names_stream(call.kind)) call.stream = WST_STREAM_LEGACY;
  t.call = calls_.size();
  calls_.push_back(call);
  if (names_stream(call.kind) && now >= traits_.attach) {
    auto& stream = device_.streams[t.stream];
    if (!stream.named) stream.named = now;
  }
  t.stolen = 0;
  if (call.kind == WST_API_SUBMIT)
    kernel_.submit(tid(i), now, call.stream);
  else if (is_timed(call.kind))
    kernel_.begin(tid(i), now, call.kind, call.stream, call.event);
  else
    kernel_.enter(tid(i), now, call.kind, call.stream, call.event);

  TimeNs effect = now + (once_in(30) ? between(20'000, 50'000) : between(300, 5'000));
  if (t.repeat > 100) effect = now + between(200, 900);
  if (traits_.stumbles && once_in(25)) {
    const TimeNs out = between(now, effect);
    const bool for_lock = once_in(2);  // of the driver, which another thread holds
    const bool long_one = !for_lock && once_in(3);
    const TimeNs off = between(20'000, long_one ? 4'000'000 : 400'000);
    if (for_lock)
      effect = stay(i, out, out + off, out + off + between(0, 20'000), kFutex, WST_CTX_TASK);
    else
      effect = stay(i, out, 0, out + off, -1, WST_CTX_TASK);
    effect += between(100, 3'000);
  }
  t.next = effect;
  t.phase = Phase::kEffect;
}

void RandomProgram::take_effect(std::size_t i) {
  Thread& t = threads_[i];
  const std::uint16_t kind = call_of(t).kind;
  if (kind == WST_API_SUBMIT || kind == WST_API_COPY || kind == WST_API_SYNC_COPY) {
    if (const TimeNs room = device_.room_at(t.stream, t.next)) {
      t.next = room;
      return;
    }
  }
  call_of(t).effect = t.next;
  affect(i);
}

void RandomProgram::create_stream(std::size_t i) {
  Thread& t = threads_[i];
  ModelDevice::Stream stream;
  stream.handle = next_handle_;
  if (!free_streams_.empty() && pick(3)) {
    stream.handle = free_streams_.back();
    free_streams_.pop_back();
  } else {
    next_handle_ += 0x100;
  }
  stream.context = t.context;
  const bool non_blocking = once_in(2);
  stream.kind = non_blocking ? ModelDevice::Kind::kNonBlocking : ModelDevice::Kind::kBlocking;
  call_of(t).stream = stream.handle;
  call_of(t).event = non_blocking ? 1 : 0;
  stream.alive = false;  // until its handle is known
  t.stream = device_.add_stream(std::move(stream));
}

void RandomProgram::affect(std::size_t i) {
  Thread& t = threads_[i];
  Call& call = call_of(t);
  const TimeNs now = t.next;
  t.target = now;
  switch (call.kind) {
    case WST_API_SUBMIT:
    case WST_API_COPY:
    case WST_API_SYNC_COPY: {
      TimeNs length = once_in(6) ? between(200'000, 2'000'000) : between(2'000, 60'000);
      if (t.repeat > 100) length = between(500, 3'000);
      device_.enqueue(t.stream, call.entry, now + between(0, 3'000), length);
      if (call.kind == WST_API_SYNC_COPY) t.target = device_.streams[t.stream].tail;
      break;
    }
    case WST_API_SYNC_STREAM:
      t.target = device_.done(t.stream);
      break;
    case WST_API_SYNC_CONTEXT:
      t.target = device_.context_done(t.context);
      break;
    case WST_API_SYNC_EVENT:
      t.target = device_.events[t.event].done;
      break;
    case WST_API_QUERY_STREAM:
      call.ret = device_.done(t.stream) > now ? WST_API_NOT_READY : WST_API_DONE;
      break;
    case WST_API_QUERY_EVENT:
      call.ret = device_.events[t.event].done > now ? WST_API_NOT_READY : WST_API_DONE;
      break;
    case WST_API_RECORD_EVENT:
      device_.record(t.event, t.stream);
      break;
    case WST_API_WAIT_EVENT:
      device_.wait(t.stream, t.event);
      break;
    case WST_API_STREAM_CREATE:
      create_stream(i);
      break;
    case WST_API_STREAM_DESTROY:
      device_.streams[t.stream].alive = false;
      free_streams_.push_back(call.stream);
      break;
    case WST_API_EVENT_DESTROY:
      device_.events[t.event].alive = false;
      free_events_.push_back(call.event);
      break;
    default:
      break;
  }
  t.phase = Phase::kReturn;
  if (is_sync(call.kind)) return watch(i);
  t.next = now + between(100, 1'000);
  if (call.kind == WST_API_MEMORY || call.kind == WST_API_COPY)
    t.next += once_in(3) ? between(20'000, 100'000) : 0;
}

/// How a synchronise finds out that the device is done, and when it returns.
void RandomProgram::watch(std::size_t i) {
  Thread& t = threads_[i];
  const TimeNs now = t.next;
  const auto seen_by = [&](TimeNs running_from) {
    return std::max(running_from, t.target) + between(100, 10'000);
  };
  switch (pick(6)) {
    case 0: {  // spins, and is taken off the CPU meanwhile
      TimeNs at = now;
      for (std::size_t n = 1 + pick(3); n > 0; n--) {
        const TimeNs out = between(at, std::max(at, t.target) + 5'000);
        at = stay(i, out, 0, out + between(20'000, once_in(2) ? 100'000 : 3'000'000), -1,
                  WST_CTX_TASK);
        if (at > t.target) break;
      }
      if (once_in(3)) t.stolen = ~0ull;  // it returned on another CPU
      t.next = seen_by(at);
      if (t.stolen) t.next += once_in(2) ? between(20'000, 500'000) : 0;
      return;
    }
    case 1:
    case 2: {  // asleep until the device's interrupt, or until a task that was woken by it
      const TimeNs look = now + between(500, 20'000);
      if (look >= t.target) break;
      const bool task = once_in(3);
      const TimeNs wake = t.target + between(500, task && once_in(2) ? 2'000'000 : 10'000);
      const TimeNs in = wake + (once_in(4) ? between(20'000, 3'000'000) : between(500, 5'000));
      stay(i, look, wake, in, kPoll, task ? WST_CTX_TASK : WST_CTX_TIMER);
      t.next = in + between(500, 5'000);
      return;
    }
    case 3:  // the hypervisor takes the CPU
      t.stolen = pick(1'000'000);
      t.next = seen_by(now) + static_cast<TimeNs>(t.stolen);
      return;
    default:
      break;
  }
  t.next = seen_by(now);
}

void RandomProgram::leave(std::size_t i) {
  Thread& t = threads_[i];
  Call& call = call_of(t);
  call.end = t.next;
  if (is_timed(call.kind)) {
    const auto bytes = static_cast<std::uint64_t>(device_of(t.context));
    if (call.kind == WST_API_STREAM_CREATE) {
      auto& stream = device_.streams[t.stream];
      stream.alive = true;
      if (t.next >= traits_.attach) stream.named = t.next;
      kernel_.end(tid(i), t.next, 0, t.stolen, call.stream, call.event, 0);
    } else if (call.kind == WST_API_CONTEXT_DEVICE) {
      kernel_.end(tid(i), t.next, 0, t.stolen, call.stream, call.event, bytes);
    } else {
      kernel_.end(tid(i), t.next, call.ret, t.stolen);
    }
  }
  t.phase = Phase::kEnter;
  const bool more =
      t.repeat > 0 && (!is_query(call.kind) || call.ret == WST_API_NOT_READY || once_in(2));
  if (!more) t.repeat = 0;
  t.next = more ? t.next + between(100, t.repeat > 100 ? 200 : 4'000) : think(i, t.next);
}

}  // namespace whystall::testing
