// SPDX-License-Identifier: Apache-2.0
#include "walk/wait_kind.h"

#include "abi/syscalls.h"

namespace whystall::walk {

namespace {

/// The value that glibc's low-level lock gives a word that is held and waited for.
constexpr std::uint32_t kLockedWithWaiters = 2;

}  // namespace

bool is_file_read(std::int32_t nr) {
  return nr == WST_NR_READ || nr == WST_NR_PREAD64 || nr == WST_NR_READV || nr == WST_NR_PREADV ||
         nr == WST_NR_PREADV2 || nr == WST_NR_SENDFILE || nr == WST_NR_READAHEAD;
}

bool reads_and_sends(std::int32_t nr) {
  return nr == WST_NR_SENDFILE;
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

bool is_poll(std::int32_t nr) {
  return nr == WST_NR_POLL || nr == WST_NR_PPOLL || nr == WST_NR_SELECT || nr == WST_NR_PSELECT6 ||
         nr == WST_NR_EPOLL_WAIT || nr == WST_NR_EPOLL_PWAIT || nr == WST_NR_EPOLL_PWAIT2;
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

}  // namespace whystall::walk
