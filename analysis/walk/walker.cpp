// SPDX-License-Identifier: Apache-2.0
#include "walk/walker.h"

#include <algorithm>
#include <utility>

namespace whystall::walk {

using model::Cause;
using model::Confidence;
using model::Interval;
using model::Leaf;
using model::Object;
using model::Pid;
using model::Reason;
using model::Tid;
using model::TimeNs;
using timeline::Piece;
using timeline::State;

namespace {

constexpr std::size_t kMaxDepth = 16;
/// Within this the order of waits that were added up is not told.
constexpr model::DurationNs kMixRoundNs = 1'000'000;

}  // namespace

void Walker::walk(Tid tid, Interval at, Edge edge) {
  if (chain_.size() >= kMaxDepth) return unknown(at, tid, Reason::kTooDeep);
  for (std::size_t i = 0; i < chain_.size(); i++) {
    if (chain_[i].tid != tid) continue;
    if (i < waited_ && edge.lock != Cause::kUnknown) return lock_leaf(at, tid, edge, false);
    return unknown(at, tid, Reason::kMutualWait);
  }
  chain_.push_back({tid, -1, WST_FILE_NONE, at, 0});
  const wst_api* outer_call = call_;
  TimeNs hi = at.hi;
  while (hi > at.lo) {
    const Piece* piece = timeline_.before(tid, hi);
    if (!piece) {
      const TimeNs lo = std::max(at.lo, timeline_.covered_until(tid, hi - 1));
      chain_.back() = {tid, -1, WST_FILE_NONE, {lo, hi}, 0};
      if (edge.process != Cause::kUnknown)
        ends_at_process({lo, hi}, edge);
      else
        unknown({lo, hi}, tid, Reason::kNoRecord);
      hi = lo;
      continue;
    }
    const TimeNs lo = std::max(at.lo, piece->at.lo);
    hi = within_one_call(tid, *piece, {lo, hi}, edge);
  }
  call_ = outer_call;
  chain_.pop_back();
}

std::vector<Leaf> Walker::take_leaves() {
  std::sort(leaves_.begin(), leaves_.end(),
            [](const Leaf& a, const Leaf& b) { return a.at.lo < b.at.lo; });
  return std::move(leaves_);
}

/// Takes as much of the end of `at` as lies in one driver call or in none; returns where that
/// begins.
TimeNs Walker::within_one_call(Tid tid, const Piece& piece, Interval at, Edge edge) {
  call_ = walks_.calls.before(tid, at.hi);
  const TimeNs begin =
      call_ ? static_cast<TimeNs>(call_->entry_ns) : walks_.calls.ended_before(tid, at.hi);
  at.lo = std::max(at.lo, begin);
  step(tid, piece, at, edge);
  return at.lo;
}

void Walker::step(Tid tid, const Piece& piece, Interval at, Edge edge) {
  model::Hop& hop = chain_.back();
  hop = {hop.tid, -1, WST_FILE_NONE, at, 0};
  switch (piece.state) {
    case State::kRunning:
      return running(tid, at, edge);
    case State::kRunnable:
      return runnable(piece, at);
    case State::kMixed:
      return mixed(tid, piece, at, edge);
    case State::kBlocked: {
      hop.nr = piece.wait->nr;
      hop.file_kind = piece.wait->file_kind;
      const Bound bound(*this, piece.merged ? Confidence::kLikely : Confidence::kProven);
      return blocked(piece, at, edge);
    }
  }
}

void Walker::running(Tid tid, Interval at, Edge edge) {
  if (call_) return inside_driver(tid, at);
  const auto& times = walks_.polling.times(tid);
  auto next = std::lower_bound(times.begin(), times.end(), at.lo,
                               [](const Interval& i, TimeNs t) { return i.hi <= t; });
  TimeNs done = at.lo;
  for (; next != times.end() && next->lo < at.hi; ++next) {
    const Interval part{std::max(done, next->lo), std::min(at.hi, next->hi)};
    computing(tid, {done, part.lo}, edge);
    polling(tid, part);
    done = part.hi;
  }
  computing(tid, {done, at.hi}, edge);
}

void Walker::computing(Tid tid, Interval at, Edge edge) {
  if (edge.lock != Cause::kUnknown) return lock_leaf(at, tid, edge, false);
  emit(at, Cause::kCpuBusy, confidence_, {.tid = tid, .pid = pid_of(tid)});
}

/// A wait without a sleep leaves no wake-up. Where one other thread of the process alone is at
/// work, that one is what is waited for.
void Walker::polling(Tid tid, Interval at) {
  const Bound bound(*this, Confidence::kEstimated);
  for (const Releasers::Part& part : walks_.releasers.of(pid_of(tid), tid, at)) {
    if (part.tid != 0)
      walk(part.tid, part.at, {});
    else
      emit(part.at, Cause::kWaitPolling, confidence_, {.tid = tid, .pid = pid_of(tid)});
  }
}

/// What time inside a driver call is charged to.
void Walker::inside_driver(Tid tid, Interval at) {
  Cause cause = Cause::kGpuSync;
  if (call_->call == WST_API_COPY) cause = Cause::kGpuTransfer;
  if (call_->call == WST_API_MEMORY) cause = Cause::kGpuAlloc;
  emit(at, cause, confidence_, {.tid = tid, .pid = pid_of(tid), .symbol = call_->symbol});
}

/// First what its quota held back, then who ran on the CPU that it waited for; where nobody is
/// seen, only the wait itself is known.
void Walker::runnable(const Piece& piece, Interval at) {
  const wst_wait& wait = *piece.wait;
  if (wait.flags & WST_WAIT_QUOTA) {
    const TimeNs end = piece.at.lo + static_cast<TimeNs>(std::min<std::uint64_t>(
                                         wait.throttled_ns, piece.at.length()));
    const Interval held{at.lo, std::min(at.hi, end)};
    emit(held, Cause::kCpuThrottled, confidence_, {.tid = wait.tid, .pid = wait.tgid});
    at.lo = std::max(at.lo, held.hi);
    if (at.length() <= 0) return;
  }
  const auto queues = timeline_.queues(wait, at);
  if (queues.empty()) return waiting_for_cpu(wait, at);
  for (const timeline::Queue& queue : queues) who_ran(piece, queue.cpu, queue.at);
}

/// A thread that wakes another is often preempted by it before it can go to sleep. As far as its
/// own side ran then, it already waited for that one, and lost no CPU time.
void Walker::who_ran(const Piece& piece, std::uint32_t cpu, Interval at) {
  const wst_wait& wait = *piece.wait;
  const wst_wait* next = piece.leads_to;
  const bool waits = next && (next->flags & WST_WAIT_WOKEN) &&
                     next->waker_context == WST_CTX_TASK && is_target(next->waker_tid);
  TimeNs done = at.lo;
  for (const auto& slice : timeline_.ran_on(cpu, at)) {
    const Interval part{std::max(done, slice.at.lo), std::min(at.hi, slice.at.hi)};
    if (part.length() <= 0) continue;
    waiting_for_cpu(wait, {done, part.lo});
    done = part.hi;
    const bool own = slice.pid == wait.tgid || is_target_process(slice.pid);
    if (waits && own) {
      const Bound bound(*this, Confidence::kLikely);
      follow_waker(*next, part);
      continue;
    }
    Cause cause = Cause::kCpuContention;
    if (model::is_whystall(recording_.meta, slice.pid))
      cause = Cause::kObserver;
    else if (own)
      cause = Cause::kCpuOversubscription;
    emit(part, cause, confidence_, {.tid = 0, .pid = slice.pid});
  }
  waiting_for_cpu(wait, {done, at.hi});
}

void Walker::waiting_for_cpu(const wst_wait& wait, Interval at) {
  emit(at, Cause::kCpuWaiting, confidence_, {.tid = wait.tid, .pid = wait.tgid});
}

/// Only the amounts are known. They are laid out one after the other, as if the same came again
/// each millisecond, so that any part of the time gets its part of each.
void Walker::mixed(Tid tid, const Piece& piece, Interval at, Edge edge) {
  const Bound bound(*this, Confidence::kEstimated);
  const timeline::Mix& mix = *piece.mix;
  const model::DurationNs rounds = (mix.length + kMixRoundNs - 1) / kMixRoundNs;
  const model::DurationNs round = (mix.length + rounds - 1) / rounds;
  TimeNs begin = at.lo - (at.lo - piece.mix_begin) % round;
  for (; begin < at.hi; begin += round) mixed_round(tid, mix, {begin, begin + round}, at, edge);
}

void Walker::mixed_round(Tid tid, const timeline::Mix& mix, Interval round, Interval at,
                         Edge edge) {
  TimeNs done = round.lo;
  auto take = [&](model::DurationNs amount) {
    const model::DurationNs part = model::scaled(amount, round.length(), mix.length);
    const Interval interval{done, std::min(round.hi, done + part)};
    done = interval.hi;
    return interval;
  };
  auto answer = [&](Interval whole, State state, const wst_wait* wait) {
    const Interval part{std::max(whole.lo, at.lo), std::min(whole.hi, at.hi)};
    if (part.length() > 0) step(tid, {whole, state, wait}, part, edge);
  };
  for (const timeline::Share& share : mix.shares) {
    answer(take(share.blocked), State::kBlocked, share.wait);
    answer(take(share.runnable), State::kRunnable, share.wait);
  }
  answer({done, round.hi}, State::kRunning, nullptr);
}

/// Another process, whose own past was not recorded there: the chain ends at its name.
void Walker::ends_at_process(Interval at, Edge edge) {
  const model::Hop last = chain_.back();
  chain_.pop_back();
  emit(at, edge.process, worse(confidence_, Confidence::kLikely), {.pid = edge.pid});
  chain_.push_back(last);
}

void Walker::lock_leaf(Interval at, Tid holder, Edge edge, bool slept) {
  emit(at, edge.lock, edge.sure ? confidence_ : worse(confidence_, Confidence::kLikely),
       {.address = edge.address, .tid = holder, .pid = pid_of(holder), .slept = slept});
}

void Walker::unknown(Interval at, Tid tid, Reason reason) {
  emit(at, Cause::kUnknown, Confidence::kUnknown,
       {.tid = tid, .pid = pid_of(tid), .reason = reason});
}

void Walker::emit(Interval at, Cause cause, Confidence confidence, const Object& object) {
  if (at.length() <= 0) return;
  leaves_.push_back({at, cause, confidence, object, chain_});
}

bool Walker::is_target(Tid tid) const {
  const auto task = recording_.tasks.find(tid);
  return task != recording_.tasks.end() && task->second.target;
}

/// By its main thread: one that has ended may have left its number to nobody else meanwhile.
bool Walker::is_target_process(Pid pid) const {
  return is_target(pid);
}

bool Walker::is_kernel(Tid tid) const {
  const auto task = recording_.tasks.find(tid);
  return task != recording_.tasks.end() && task->second.kernel;
}

Pid Walker::pid_of(Tid tid) const {
  const auto task = recording_.tasks.find(tid);
  return task == recording_.tasks.end() ? 0 : task->second.pid;
}

}  // namespace whystall::walk
