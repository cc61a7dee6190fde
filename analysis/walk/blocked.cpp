// SPDX-License-Identifier: Apache-2.0
//
// What a thread that was blocked waited for. The innermost evidence comes first: what stopped the
// thread, the driver, a page fault, the file; then whoever woke it.
#include <algorithm>

#include "abi/syscalls.h"
#include "walk/walker.h"

namespace whystall::walk {

using model::Cause;
using model::Confidence;
using model::Interval;
using model::Pid;
using model::Reason;
using model::Tid;
using timeline::Piece;
using timeline::State;

namespace {

/// The ways to be blocked that a kernel lock is not among: they wait for somebody by design.
bool waits_by_design(std::int32_t nr) {
  switch (nr) {
    case WST_NR_FUTEX:
    case WST_NR_FUTEX_WAITV:
    case WST_NR_FUTEX_WAIT:
    case WST_NR_VFORK:
    case WST_NR_CLONE:
    case WST_NR_CLONE3:
    case WST_NR_IOCTL:
    case WST_NR_IO_URING_ENTER:
    case WST_NR_IO_GETEVENTS:
      return true;
    default:
      return is_poll(nr) || is_wait_for_child(nr);
  }
}

bool is_socket(std::uint8_t kind) {
  return kind == WST_FILE_SOCKET || kind == WST_FILE_UNIX || kind == WST_FILE_INET;
}

/// Of the two words of its condition that the interpreter's lock uses in turn, the first.
std::uint64_t word_of(const wst_wait& wait) {
  return model::ExpiredWaits::word_of(wait).address;
}

bool woken_by_task(const wst_wait& wait) {
  return (wait.flags & WST_WAIT_WOKEN) && wait.waker_context == WST_CTX_TASK;
}

}  // namespace

void Walker::blocked(const Piece& piece, Interval at, Edge edge) {
  const wst_wait& wait = *piece.wait;
  if (wait.flags & WST_WAIT_FREEZE) return stopped(wait, at);
  if (call_ && waits_for_device(wait)) return inside_driver(wait.tid, at);
  if (const Confidence sure = walks_.demand.awaited(wait); sure != Confidence::kUnknown)
    return emit(at, Cause::kWaitIdle, worse(confidence_, sure),
                {.tid = wait.tid, .pid = wait.tgid});
  if (for_a_file(wait, piece.faulted, at)) return;
  if (is_sleep(wait)) {
    if (edge.lock != Cause::kUnknown) return lock_leaf(at, wait.tid, edge, true);
    return emit(at, Cause::kWaitSleep, confidence_, {.tid = wait.tid, .pid = wait.tgid});
  }
  if (!(wait.flags & WST_WAIT_WOKEN)) return not_woken(wait, at);
  switch (wait.waker_context) {
    case WST_CTX_TASK:
      return follow_waker(wait, at);
    case WST_CTX_LOCALNET: {
      // Woken from NET_RX inside the waker's own send: nearly always its own packet, but not
      // surely.
      const Bound bound(*this, Confidence::kLikely);
      return follow_waker(wait, at);
    }
    case WST_CTX_TIMER:
      return timed_out(wait, at);
    default:
      return interrupted(wait, at);
  }
}

/// Asleep in the driver until the device, or a thread of the driver's own, woke it. For anything
/// else the wait is what it is anywhere.
bool Walker::waits_for_device(const wst_wait& wait) const {
  if (!woken_by_task(wait)) return true;
  const auto waker = recording_.tasks.find(wait.waker_tid);
  return waker != recording_.tasks.end() && waker->second.comm.starts_with("cuda-Evt");
}

/// Stopped, traced or frozen. Who let it go on is who stopped it, as a rule.
void Walker::stopped(const wst_wait& wait, Interval at) {
  const Pid by = woken_by_task(wait) ? wait.waker_tgid : 0;
  emit(at, Cause::kCpuStopped, confidence_, {.tid = wait.tid, .pid = by});
}

/// Waits for a file, its name, or a page of it. The wait is for the file when the kernel counted it
/// as I/O; on a served file system also when it did not. Anything else inside such a call is a lock
/// of the kernel or memory, and naming the file would be wrong. False: it is none of these.
bool Walker::for_a_file(const wst_wait& wait, bool faulted, Interval at) {
  const bool reads = is_file_read(wait.nr), writes = is_file_write(wait.nr);
  if (!reads && !writes && !is_metadata(wait.nr) && wait.nr >= 0 && !faulted) return false;
  const bool counted = (wait.flags & WST_WAIT_IOWAIT) != 0;
  const model::FileKey key{wait.ino, wait.dev, wait.generation};
  const model::File* file = model::find_file(recording_, key);
  // What was touched, and not the address space, which another thread may hold.
  if ((wait.flags & WST_WAIT_FAULT) && (counted || (file && is_served(file->fs_type)))) {
    const Confidence sure = counted && file ? confidence_ : worse(confidence_, Confidence::kLikely);
    emit(at, Cause::kStorageFault, sure, {.file = key});
    return true;
  }
  if (faulted || (wait.nr < 0 && counted)) {
    // Of a file that is mapped, or of what was swapped out; which is not told.
    emit(at, Cause::kMemoryFault, worse(confidence_, Confidence::kLikely),
         {.tid = wait.tid, .pid = wait.tgid});
    return true;
  }
  // Opening anything else waits for whom it connects to.
  const bool on_files = wait.file_kind == WST_FILE_NONE || wait.file_kind == WST_FILE_REGULAR ||
                        wait.file_kind == WST_FILE_DIRECTORY;
  if (is_metadata(wait.nr) && on_files) {
    const bool by_daemon = woken_by_task(wait) && !is_uninterruptible(wait);
    const bool by_network = (wait.flags & WST_WAIT_WOKEN) &&
                            (wait.waker_context == WST_CTX_SOFTIRQ || is_kernel(wait.waker_tid));
    if (!counted && !by_daemon && !by_network) return false;
    emit(at, Cause::kStorageMetadata,
         counted ? confidence_ : worse(confidence_, Confidence::kLikely), {.file = key});
    return true;
  }
  if (!reads && !writes) return false;
  if (wait.file_kind != WST_FILE_REGULAR && wait.file_kind != WST_FILE_BLOCK) return false;
  if (wait.flags & WST_WAIT_NO_FILE) return false;
  Confidence confidence = file ? confidence_ : worse(confidence_, Confidence::kLikely);
  if (!counted) {
    const bool served = file && !reads_and_sends(wait.nr) && is_served(file->fs_type);
    // What a journal's thread or a device ends is the device's time.
    const bool synced =
        is_file_sync(wait.nr) && !(woken_by_task(wait) && !is_kernel(wait.waker_tid));
    if (!served && !synced) {
      if (held_by_a_task(wait)) return false;
      unknown(at, wait.tid, Reason::kInsideRead);
      return true;
    }
    confidence = worse(confidence, Confidence::kLikely);
  }
  emit(at, reads ? Cause::kStorageRead : Cause::kStorageWrite, confidence, {.file = key});
  return true;
}

/// Uninterruptible, for no I/O, and ended by a task: that one let a lock of the kernel go.
bool Walker::held_by_a_task(const wst_wait& wait) const {
  return is_uninterruptible(wait) && !(wait.flags & WST_WAIT_IOWAIT) && woken_by_task(wait) &&
         !is_kernel(wait.waker_tid) && !waits_by_design(wait.nr);
}

/// A timer ended it. A wait that was tried again on the same thing has been merged with the next,
/// so this one waited for the time to pass.
void Walker::timed_out(const wst_wait& wait, Interval at) {
  if (!is_timed_wait(wait.nr)) return unknown(at, wait.tid, Reason::kInterrupt);
  if (walks_.interpreter_locks.is_one(wait)) return asked_for_interpreter(wait, at);
  emit(at, Cause::kWaitSleep, worse(confidence_, Confidence::kEstimated),
       {.tid = wait.tid, .pid = wait.tgid});
}

/// The interval of the interpreter's lock ran out, and nobody waked the thread: by elimination, the
/// only thread of the process that was at work held it.
void Walker::asked_for_interpreter(const wst_wait& wait, Interval at) {
  const Bound bound(*this, Confidence::kEstimated);
  const Edge edge{.lock = Cause::kLockGil, .address = word_of(wait)};
  chain_.back().lock = edge.address;
  for (const Releasers::Part& part : walks_.releasers.of(wait.tgid, wait.tid, at)) {
    if (part.tid != 0)
      walk(part.tid, part.at, edge);
    else
      lock_leaf(part.at, 0, edge, false);
  }
}

/// A device's interrupt ended it, or a packet.
void Walker::interrupted(const wst_wait& wait, Interval at) {
  if (is_ended_by_packet(wait) && is_socket(wait.file_kind) && walks_.ends.is_remote(wait.ino))
    return emit(at, Cause::kNetRemote, worse(confidence_, Confidence::kLikely),
                {.ino = wait.ino, .pid = wait.tgid});
  if (wait.nr == WST_NR_IOCTL && wait.file_kind == WST_FILE_CHAR)
    return emit(at, Cause::kGpuDriver, worse(confidence_, Confidence::kLikely),
                {.tid = wait.tid,
                 .pid = wait.tgid,
                 .command = static_cast<std::uint32_t>(wait.args[1]),
                 .rdev = wait.rdev});
  unknown(at, wait.tid, wait.nr < 0 ? Reason::kPageFault : Reason::kInterrupt);
}

void Walker::not_woken(const wst_wait& wait, Interval at) {
  if (wait.flags & WST_WAIT_OPEN) return still_blocked(wait, at);
  unknown(at, wait.tid, Reason::kNoWake);
}

/// A wait that is not over. Who holds the other end of a full or empty pipe is told; else it is
/// taken to be for whoever ended the thread's last one on the same file; one for many, and one that
/// somebody outside ended, may be for a request.
void Walker::still_blocked(const wst_wait& wait, Interval at) {
  const wst_wait* last = walks_.last_wakes.like(wait);
  if (!last || wait.file_kind == WST_FILE_EPOLL || !is_target(last->waker_tid)) {
    const Confidence sure = walks_.demand.still_awaited(wait);
    if (sure != Confidence::kUnknown)
      return emit(at, Cause::kWaitIdle, worse(confidence_, sure),
                  {.tid = wait.tid, .pid = wait.tgid});
  }
  if (wait.file_kind == WST_FILE_PIPE && is_send(wait.nr))
    return emit(at, Cause::kIpcPipe, confidence_, {.ino = wait.ino, .pid = walks_.ends.of(wait)});
  if (last) {
    const Bound bound(*this, Confidence::kEstimated);
    return follow_waker(*last, at);
  }
  const Pid other = walks_.ends.of(wait);
  if (wait.file_kind == WST_FILE_PIPE && other != 0)
    return emit(at, Cause::kIpcPipe, worse(confidence_, Confidence::kLikely),
                {.ino = wait.ino, .pid = other});
  if (other != 0)
    return emit(at, Cause::kIpcWorker, worse(confidence_, Confidence::kEstimated), {.pid = other});
  if (wait.nr == WST_NR_IOCTL && wait.file_kind == WST_FILE_CHAR) return interrupted(wait, at);
  unknown(at, wait.tid, Reason::kStillBlocked);
}

void Walker::follow_waker(const wst_wait& wait, Interval at) {
  const Tid waker = wait.waker_tid;
  if (is_kernel(waker)) {
    if (wait.nr == WST_NR_IOCTL && wait.file_kind == WST_FILE_CHAR) return interrupted(wait, at);
    return unknown(at, wait.tid, wait.nr < 0 ? Reason::kPageFault : Reason::kKernelWorker);
  }
  if (waker == wait.tid) return unknown(at, wait.tid, Reason::kNoWake);
  Edge edge = edge_of(wait);
  if (wait.waker_tgid != wait.tgid) {
    edge.process = is_wait_for_child(wait.nr) ? Cause::kIpcChild : Cause::kIpcWorker;
    edge.pid = wait.waker_tgid;
  }
  // Who lets a lock of the kernel go had it at the end, not surely all the time.
  const Bound bound(*this,
                    edge.lock == Cause::kLockKernel ? Confidence::kLikely : Confidence::kProven);
  if (edge.lock != Cause::kUnknown) chain_.back().lock = edge.address;
  walk(waker, at, edge);
}

/// The lock that the waker of `wait` held, if it was one.
Edge Walker::edge_of(const wst_wait& wait) const {
  const MutexEvidence evidence = lock_evidence(wait);
  if (evidence != MutexEvidence::kNone) {
    const bool sure = evidence == MutexEvidence::kCommand || evidence == MutexEvidence::kOwner;
    return {.lock = Cause::kLockUser, .sure = sure, .address = wait.args[0]};
  }
  if (walks_.interpreter_locks.is_one(wait))
    return {.lock = Cause::kLockGil, .address = word_of(wait)};
  if (held_by_a_task(wait)) return {.lock = Cause::kLockKernel};
  return {};
}

/// The owner that glibc writes into a mutex is believed when it is the thread that later woke the
/// waiter: then it held the lock from the beginning to the end.
MutexEvidence Walker::lock_evidence(const wst_wait& wait) const {
  const MutexEvidence evidence = mutex_evidence(wait);
  if (evidence != MutexEvidence::kValue || !(wait.flags & WST_WAIT_FUTEX_WORD) ||
      wait.futex_owner == 0 || wait.waker_tgid != wait.tgid)
    return evidence;
  const auto waker = recording_.tasks.find(wait.waker_tid);
  const bool same = waker != recording_.tasks.end() && waker->second.ns_tid == wait.futex_owner;
  return same ? MutexEvidence::kOwner : evidence;
}

}  // namespace whystall::walk
