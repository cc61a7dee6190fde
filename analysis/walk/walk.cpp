// SPDX-License-Identifier: Apache-2.0
#include "walk/walk.h"

#include <algorithm>
#include <string_view>

#include "walk/wait_kind.h"

namespace whystall::walk {

namespace {

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

constexpr std::size_t kMaxDepth = 16;
/// Within this the order of waits that were added up is not told.
constexpr model::DurationNs kMixRoundNs = 1'000'000;

/// How the walk came to a thread.
struct Edge {
  MutexEvidence lock = MutexEvidence::kNone;  // the thread held what the one before waited for
  std::uint64_t address = 0;                  // of the lock's word
  bool other_process = false;                 // than the one before's
  Pid pid = 0;                                // its process
};

/// File systems whose reads wait for a server or a daemon, which the kernel does not always count
/// as I/O.
bool is_served_fs(std::string_view fs) {
  return fs.starts_with("fuse") || fs.starts_with("nfs") || fs == "cifs" || fs == "smb3" ||
         fs == "9p" || fs == "ceph" || fs == "lustre" || fs == "virtiofs" || fs == "afs";
}

class Walker {
 public:
  Walker(const Walks& walks, Confidence start)
      : walks_(walks), recording_(walks.recording), timeline_(walks.timeline), confidence_(start) {}

  void walk(Tid tid, Interval at, Edge edge) {
    if (chain_.size() >= kMaxDepth) return unknown(at, tid, Reason::kTooDeep);
    for (const model::Hop& hop : chain_) {
      if (hop.tid == tid) return unknown(at, tid, Reason::kMutualWait);
    }
    chain_.push_back({tid, -1, WST_FILE_NONE, at});
    const wst_api* outer_call = call_;
    TimeNs hi = at.hi;
    while (hi > at.lo) {
      const Piece* piece = timeline_.before(tid, hi);
      if (!piece) {
        const TimeNs lo = std::max(at.lo, timeline_.covered_until(tid, hi - 1));
        chain_.back() = {tid, -1, WST_FILE_NONE, {lo, hi}};
        edge.other_process ? ends_at_process({lo, hi}, edge.pid)
                           : unknown({lo, hi}, tid, Reason::kNoRecord);
        hi = lo;
        continue;
      }
      const TimeNs lo = std::max(at.lo, piece->at.lo);
      hi = within_one_call(tid, *piece, {lo, hi}, edge);
    }
    call_ = outer_call;
    chain_.pop_back();
  }

  std::vector<Leaf> take_leaves() {
    std::sort(leaves_.begin(), leaves_.end(),
              [](const Leaf& a, const Leaf& b) { return a.at.lo < b.at.lo; });
    return std::move(leaves_);
  }

 private:
  /// Takes as much of the end of `at` as lies in one driver call or in none; returns where that
  /// begins.
  TimeNs within_one_call(Tid tid, const Piece& piece, Interval at, Edge edge) {
    call_ = walks_.calls.before(tid, at.hi);
    const TimeNs begin =
        call_ ? static_cast<TimeNs>(call_->entry_ns) : walks_.calls.ended_before(tid, at.hi);
    at.lo = std::max(at.lo, begin);
    step(tid, piece, at, edge);
    return at.lo;
  }

  void step(Tid tid, const Piece& piece, Interval at, Edge edge) {
    model::Hop& hop = chain_.back();
    hop = {hop.tid, -1, WST_FILE_NONE, at};
    switch (piece.state) {
      case State::kRunning:
        return running(tid, at, edge);
      case State::kRunnable:
        return runnable(piece, at);
      case State::kMixed:
        return mixed(tid, piece, at, edge);
      case State::kBlocked:
        hop.nr = piece.wait->nr;
        hop.file_kind = piece.wait->file_kind;
        const Confidence before = confidence_;
        if (piece.merged) confidence_ = worse(confidence_, Confidence::kLikely);
        blocked(piece, at, edge);
        confidence_ = before;
        return;
    }
  }

  /// What time inside a driver call is charged to.
  void inside_driver(Tid tid, Interval at) {
    Cause cause = Cause::kGpuSync;
    if (call_->call == WST_API_COPY) cause = Cause::kGpuTransfer;
    if (call_->call == WST_API_MEMORY) cause = Cause::kGpuAlloc;
    emit(at, cause, confidence_, {.tid = tid, .pid = pid_of(tid), .symbol = call_->symbol});
  }

  /// Asleep in the driver until the device, or a thread of the driver's own, woke it. For anything
  /// else the wait is what it is anywhere.
  bool waits_for_device(const wst_wait& wait) const {
    if (!(wait.flags & WST_WAIT_WOKEN) || wait.waker_context != WST_CTX_TASK) return true;
    const auto waker = recording_.tasks.find(wait.waker_tid);
    return waker != recording_.tasks.end() && waker->second.comm.starts_with("cuda-Evt");
  }

  void running(Tid tid, Interval at, Edge edge) {
    if (call_) return inside_driver(tid, at);
    const auto& yielding = walks_.polling.yielding(tid);
    auto next = std::lower_bound(yielding.begin(), yielding.end(), at.lo,
                                 [](const Interval& i, TimeNs t) { return i.hi <= t; });
    TimeNs done = at.lo;
    for (; next != yielding.end() && next->lo < at.hi; ++next) {
      const Interval yields{std::max(done, next->lo), std::min(at.hi, next->hi)};
      computing(tid, {done, yields.lo}, edge);
      emit(yields, Cause::kWaitPolling, worse(confidence_, Confidence::kEstimated),
           {.tid = tid, .pid = pid_of(tid)});
      done = yields.hi;
    }
    computing(tid, {done, at.hi}, edge);
  }

  void computing(Tid tid, Interval at, Edge edge) {
    if (edge.lock != MutexEvidence::kNone) return lock_leaf(at, tid, edge, false);
    emit(at, Cause::kCpuBusy, confidence_, {.tid = tid, .pid = pid_of(tid)});
  }

  /// The owner that glibc writes into a mutex is believed when it is the thread that later woke the
  /// waiter: then it held the lock from the beginning to the end.
  MutexEvidence lock_evidence(const wst_wait& wait) const {
    const MutexEvidence evidence = mutex_evidence(wait);
    if (evidence != MutexEvidence::kValue || !(wait.flags & WST_WAIT_FUTEX_WORD) ||
        wait.futex_owner == 0 || wait.waker_tgid != wait.tgid)
      return evidence;
    const auto waker = recording_.tasks.find(wait.waker_tid);
    const bool same = waker != recording_.tasks.end() && waker->second.ns_tid == wait.futex_owner;
    return same ? MutexEvidence::kOwner : evidence;
  }

  void lock_leaf(Interval at, Tid holder, Edge edge, bool slept) {
    const bool sure = edge.lock == MutexEvidence::kCommand || edge.lock == MutexEvidence::kOwner;
    emit(at, Cause::kLockUser, sure ? confidence_ : worse(confidence_, Confidence::kLikely),
         {.address = edge.address, .tid = holder, .pid = pid_of(holder), .slept = slept});
  }

  /// First what its quota held back, then who ran on the CPU that it waited for; where nobody is
  /// seen, only the wait itself is known.
  void runnable(const Piece& piece, Interval at) {
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
    for (const timeline::Queue& queue : queues) who_ran(wait, queue.cpu, queue.at);
  }

  void who_ran(const wst_wait& wait, std::uint32_t cpu, Interval at) {
    TimeNs done = at.lo;
    for (const auto& slice : timeline_.ran_on(cpu, at)) {
      const Interval part{std::max(done, slice.at.lo), std::min(at.hi, slice.at.hi)};
      if (part.length() <= 0) continue;
      waiting_for_cpu(wait, {done, part.lo});
      const bool self = model::is_whystall(recording_.meta, slice.pid);
      emit(part, self ? Cause::kObserver : Cause::kCpuContention, confidence_,
           {.tid = 0, .pid = slice.pid});
      done = part.hi;
    }
    waiting_for_cpu(wait, {done, at.hi});
  }

  /// Only the amounts are known. They are laid out one after the other, as if the same came again
  /// each millisecond, so that any part of the time gets its part of each.
  void mixed(Tid tid, const Piece& piece, Interval at, Edge edge) {
    const Confidence before = confidence_;
    confidence_ = worse(confidence_, Confidence::kEstimated);
    const timeline::Mix& mix = *piece.mix;
    const model::DurationNs rounds = (mix.length + kMixRoundNs - 1) / kMixRoundNs;
    const model::DurationNs round = (mix.length + rounds - 1) / rounds;
    TimeNs begin = at.lo - (at.lo - piece.mix_begin) % round;
    for (; begin < at.hi; begin += round) mixed_round(tid, mix, {begin, begin + round}, at, edge);
    confidence_ = before;
  }

  void mixed_round(Tid tid, const timeline::Mix& mix, Interval round, Interval at, Edge edge) {
    TimeNs done = round.lo;
    auto take = [&](model::DurationNs amount) {
      // Both fit a long double's mantissa, their product does not fit 64 bits.
      const auto part = static_cast<model::DurationNs>(static_cast<long double>(amount) *
                                                       static_cast<long double>(round.length()) /
                                                       static_cast<long double>(mix.length));
      const Interval interval{done, std::min(round.hi, done + part)};
      done = interval.hi;
      return Interval{std::max(interval.lo, at.lo), std::min(interval.hi, at.hi)};
    };
    for (const timeline::Share& share : mix.shares) {
      if (const Interval part = take(share.blocked); part.length() > 0)
        step(tid, {part, State::kBlocked, share.wait}, part, edge);
      if (const Interval part = take(share.runnable); part.length() > 0)
        step(tid, {part, State::kRunnable, share.wait}, part, edge);
    }
    const Interval rest{std::max(done, at.lo), std::min(round.hi, at.hi)};
    if (rest.length() > 0) step(tid, {rest, State::kRunning, nullptr}, rest, edge);
  }

  void waiting_for_cpu(const wst_wait& wait, Interval at) {
    emit(at, Cause::kCpuWaiting, confidence_, {.tid = wait.tid, .pid = wait.tgid});
  }

  void blocked(const Piece& piece, Interval at, Edge edge) {
    const wst_wait& wait = *piece.wait;
    if (wait.flags & WST_WAIT_FREEZE) return unknown(at, wait.tid, Reason::kStopped);
    if (call_ && waits_for_device(wait)) return inside_driver(wait.tid, at);
    if (const Confidence sure = walks_.demand.awaited(wait); sure != Confidence::kUnknown)
      return emit(at, Cause::kWaitIdle, worse(confidence_, sure),
                  {.tid = wait.tid, .pid = wait.tgid});
    if (is_file_read(wait.nr) && wait.file_kind == WST_FILE_REGULAR &&
        !(wait.flags & WST_WAIT_NO_FILE)) {
      return file_read(wait, piece.faulted, at);
    }
    if (is_sleep(wait)) {
      if (edge.lock != MutexEvidence::kNone) return lock_leaf(at, wait.tid, edge, true);
      return emit(at, Cause::kWaitSleep, confidence_, {.tid = wait.tid, .pid = wait.tgid});
    }
    if (!(wait.flags & WST_WAIT_WOKEN)) {
      if (wait.flags & WST_WAIT_OPEN) return still_blocked(wait, at);
      return unknown(at, wait.tid, Reason::kNoWake);
    }
    switch (wait.waker_context) {
      case WST_CTX_TASK:
        return follow_waker(wait, at);
      case WST_CTX_LOCALNET: {
        // Woken from NET_RX inside the waker's own send: nearly always its own packet, but not
        // surely.
        const Confidence before = confidence_;
        confidence_ = worse(confidence_, Confidence::kLikely);
        follow_waker(wait, at);
        confidence_ = before;
        return;
      }
      case WST_CTX_TIMER:
        return unknown(at, wait.tid,
                       is_timed_wait(wait.nr) ? Reason::kTimeout : Reason::kInterrupt);
      default:
        return unknown(at, wait.tid, wait.nr < 0 ? Reason::kPageFault : Reason::kInterrupt);
    }
  }

  /// A wait that is not over is taken to be for whoever ended the thread's last one on the same
  /// file; one for many, and one that somebody outside ended, may be for a request.
  void still_blocked(const wst_wait& wait, Interval at) {
    const wst_wait* last = walks_.last_wakes.like(wait);
    if (!last || wait.file_kind == WST_FILE_EPOLL || !is_target(last->waker_tid)) {
      const Confidence sure = walks_.demand.still_awaited(wait);
      if (sure != Confidence::kUnknown)
        return emit(at, Cause::kWaitIdle, worse(confidence_, sure),
                    {.tid = wait.tid, .pid = wait.tgid});
    }
    if (!last) return unknown(at, wait.tid, Reason::kStillBlocked);
    const Confidence before = confidence_;
    confidence_ = worse(confidence_, Confidence::kEstimated);
    follow_waker(*last, at);
    confidence_ = before;
  }

  /// The wait is for the file when the kernel counted it as I/O; on a served file system also when
  /// it did not. Anything else inside read() is a kernel lock or memory, and naming the file would
  /// be wrong.
  void file_read(const wst_wait& wait, bool faulted, Interval at) {
    const model::FileKey key{wait.ino, wait.dev, wait.generation};
    const auto file = recording_.files.find(key);
    const bool named = file != recording_.files.end();
    Confidence confidence = confidence_;
    // The call's own buffer may have been the cold page.
    if (faulted) return unknown(at, wait.tid, Reason::kInsideRead);
    if (!(wait.flags & WST_WAIT_IOWAIT)) {
      if (!named || reads_and_sends(wait.nr) || !is_served_fs(file->second.fs_type))
        return unknown(at, wait.tid, Reason::kInsideRead);
      confidence = worse(confidence, Confidence::kLikely);
    }
    if (!named) confidence = worse(confidence, Confidence::kLikely);
    emit(at, Cause::kStorageRead, confidence, {.file = key});
  }

  void follow_waker(const wst_wait& wait, Interval at) {
    const Tid waker = wait.waker_tid;
    const auto task = recording_.tasks.find(waker);
    if (task != recording_.tasks.end() && task->second.kernel) {
      return unknown(at, wait.tid, wait.nr < 0 ? Reason::kPageFault : Reason::kKernelWorker);
    }
    if (waker == wait.tid) return unknown(at, wait.tid, Reason::kNoWake);
    walk(waker, at,
         {lock_evidence(wait), wait.args[0], wait.waker_tgid != wait.tgid, wait.waker_tgid});
  }

  /// Another process, whose own past was not recorded there: the chain ends at its name.
  void ends_at_process(Interval at, Pid pid) {
    const model::Hop last = chain_.back();
    chain_.pop_back();
    emit(at, Cause::kIpcWorker, worse(confidence_, Confidence::kLikely), {.pid = pid});
    chain_.push_back(last);
  }

  void unknown(Interval at, Tid tid, Reason reason) {
    emit(at, Cause::kUnknown, Confidence::kUnknown,
         {.tid = tid, .pid = pid_of(tid), .reason = reason});
  }

  void emit(Interval at, Cause cause, Confidence confidence, const Object& object) {
    if (at.length() <= 0) return;
    leaves_.push_back({at, cause, confidence, object, chain_});
  }

  bool is_target(Tid tid) const {
    const auto task = recording_.tasks.find(tid);
    return task != recording_.tasks.end() && task->second.target;
  }

  Pid pid_of(Tid tid) const {
    const auto task = recording_.tasks.find(tid);
    return task == recording_.tasks.end() ? 0 : task->second.pid;
  }

  const Walks& walks_;
  const model::Recording& recording_;
  const timeline::Timeline& timeline_;
  const wst_api* call_ = nullptr;  // the driver call that the thread is in, in this step
  Confidence confidence_;
  std::vector<model::Hop> chain_;
  std::vector<Leaf> leaves_;
};

}  // namespace

Facts::Facts(const model::Recording& all)
    : recording(all), calls(all), polling(all), demand(all), last_wakes(all.last_wakes) {
  for (const wst_wait& wait : all.waits) last_wakes.see(wait);
  for (const model::Sums& sums : all.sums) {
    for (const wst_sum& sum : sums.entries) last_wakes.see(sums.head, sum);
  }
}

Walks::Walks(const model::Recording& all, const timeline::Timeline& states)
    : own_(std::make_unique<const Facts>(all)),
      recording(all),
      timeline(states),
      calls(own_->calls),
      polling(own_->polling),
      demand(own_->demand),
      last_wakes(own_->last_wakes) {}

Walks::Walks(const Facts& facts, const timeline::Timeline& states)
    : recording(facts.recording),
      timeline(states),
      calls(facts.calls),
      polling(facts.polling),
      demand(facts.demand),
      last_wakes(facts.last_wakes) {}

std::vector<Leaf> Walks::walk(const gaps::Gap& gap) const {
  Walker walker(*this, gap.confidence);
  walker.walk(gap.tid, gap.at, {});
  return walker.take_leaves();
}

}  // namespace whystall::walk
