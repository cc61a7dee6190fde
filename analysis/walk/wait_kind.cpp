// SPDX-License-Identifier: Apache-2.0
#include "walk/wait_kind.h"

#include "abi/syscalls.h"

namespace whystall::walk {

namespace {

/// The value that glibc's low-level lock gives a word that is held and waited for.
constexpr std::uint32_t kLockedWithWaiters = 2;

/// The softirq in which the network's packets arrive.
constexpr std::uint8_t kNetReceive = 3;

}  // namespace

bool is_file_read(std::int32_t nr) {
  return nr == WST_NR_READ || nr == WST_NR_PREAD64 || nr == WST_NR_READV || nr == WST_NR_PREADV ||
         nr == WST_NR_PREADV2 || nr == WST_NR_SENDFILE || nr == WST_NR_READAHEAD;
}

bool reads_and_sends(std::int32_t nr) {
  return nr == WST_NR_SENDFILE;
}

bool is_file_write(std::int32_t nr) {
  switch (nr) {
    case WST_NR_WRITE:
    case WST_NR_PWRITE64:
    case WST_NR_WRITEV:
    case WST_NR_PWRITEV:
    case WST_NR_PWRITEV2:
    case WST_NR_FTRUNCATE:
    case WST_NR_FALLOCATE:
    case WST_NR_COPY_FILE_RANGE:
      return true;
    default:
      return is_file_sync(nr);
  }
}

bool is_file_sync(std::int32_t nr) {
  return nr == WST_NR_FSYNC || nr == WST_NR_FDATASYNC || nr == WST_NR_SYNC_FILE_RANGE ||
         nr == WST_NR_SYNCFS || nr == WST_NR_MSYNC;
}

bool is_metadata(std::int32_t nr) {
  switch (nr) {
    case WST_NR_OPEN:
    case WST_NR_OPENAT:
    case WST_NR_OPENAT2:
    case WST_NR_CREAT:
    case WST_NR_STAT:
    case WST_NR_LSTAT:
    case WST_NR_FSTAT:
    case WST_NR_NEWFSTATAT:
    case WST_NR_STATX:
    case WST_NR_STATFS:
    case WST_NR_ACCESS:
    case WST_NR_FACCESSAT:
    case WST_NR_FACCESSAT2:
    case WST_NR_GETDENTS:
    case WST_NR_GETDENTS64:
    case WST_NR_READLINK:
    case WST_NR_READLINKAT:
    case WST_NR_TRUNCATE:
    case WST_NR_RENAME:
    case WST_NR_RENAMEAT:
    case WST_NR_RENAMEAT2:
    case WST_NR_MKDIR:
    case WST_NR_MKDIRAT:
    case WST_NR_RMDIR:
    case WST_NR_LINK:
    case WST_NR_UNLINK:
    case WST_NR_UNLINKAT:
    case WST_NR_SYMLINK:
    case WST_NR_CHMOD:
      return true;
    default:
      return false;
  }
}

bool is_wait_for_child(std::int32_t nr) {
  return nr == WST_NR_WAIT4 || nr == WST_NR_WAITID;
}

bool is_receive(std::int32_t nr) {
  switch (nr) {
    case WST_NR_READ:
    case WST_NR_READV:
    case WST_NR_RECVFROM:
    case WST_NR_RECVMSG:
    case WST_NR_RECVMMSG:
    case WST_NR_ACCEPT:
    case WST_NR_ACCEPT4:
      return true;
    default:
      return is_poll(nr);
  }
}

bool is_send(std::int32_t nr) {
  return nr == WST_NR_WRITE || nr == WST_NR_WRITEV || nr == WST_NR_SENDTO || nr == WST_NR_SENDMSG ||
         nr == WST_NR_SENDMMSG || nr == WST_NR_SPLICE || nr == WST_NR_SENDFILE ||
         nr == WST_NR_VMSPLICE || nr == WST_NR_TEE;
}

bool is_sleep(const wst_wait& wait) {
  switch (wait.nr) {
    case WST_NR_NANOSLEEP:
    case WST_NR_CLOCK_NANOSLEEP:
      return true;
    case WST_NR_POLL:
    case WST_NR_PPOLL:
      return wait.args[1] == 0;
    case WST_NR_SELECT:
    case WST_NR_PSELECT6:
      return wait.args[0] == 0;
    default:
      return false;
  }
}

bool is_timed_wait(std::int32_t nr) {
  return nr == WST_NR_FUTEX || is_poll(nr);
}

MutexEvidence mutex_evidence(const wst_wait& wait) {
  if (wait.nr != WST_NR_FUTEX) return MutexEvidence::kNone;
  const std::uint64_t command = wait.args[1] & WST_FUTEX_COMMAND;
  if (command == WST_FUTEX_LOCK_PI || command == WST_FUTEX_LOCK_PI2) return MutexEvidence::kCommand;
  const bool waits = command == WST_FUTEX_WAIT || command == WST_FUTEX_WAIT_BITSET;
  return waits && static_cast<std::uint32_t>(wait.args[2]) == kLockedWithWaiters
             ? MutexEvidence::kValue
             : MutexEvidence::kNone;
}

bool is_served(std::string_view fs) {
  return fs.starts_with("fuse") || fs.starts_with("nfs") || fs == "cifs" || fs == "smb3" ||
         fs == "9p" || fs == "ceph" || fs == "lustre" || fs == "virtiofs" || fs == "afs";
}

bool is_ended_by_packet(const wst_wait& wait) {
  return (wait.flags & WST_WAIT_WOKEN) && wait.waker_context == WST_CTX_SOFTIRQ &&
         wait.waker_vec == kNetReceive;
}

bool is_uninterruptible(const wst_wait& wait) {
  constexpr std::uint32_t kUninterruptible = 2;  // TASK_UNINTERRUPTIBLE
  return (wait.state & kUninterruptible) != 0;
}

}  // namespace whystall::walk
