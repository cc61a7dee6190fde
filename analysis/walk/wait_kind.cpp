// SPDX-License-Identifier: Apache-2.0
#include "walk/wait_kind.h"

namespace whystall::walk {

namespace {

constexpr std::int32_t kRead = 0, kPoll = 7, kPread64 = 17, kReadv = 19, kSelect = 23,
                       kNanosleep = 35, kSendfile = 40, kReadahead = 187, kFutex = 202,
                       kEpollWait = 232, kClockNanosleep = 230, kPselect6 = 270, kPpoll = 271,
                       kEpollPwait = 281, kPreadv = 295, kPreadv2 = 327, kEpollPwait2 = 441;

constexpr std::uint64_t kFutexCommand = 0x7f;  // without the private and clock bits
constexpr std::uint64_t kFutexWait = 0, kFutexLockPi = 6, kFutexWaitBitset = 9, kFutexLockPi2 = 13;
/// The value that glibc's low-level lock gives a word that is held and waited for.
constexpr std::uint32_t kLockedWithWaiters = 2;

}  // namespace

bool is_file_read(std::int32_t nr) {
  return nr == kRead || nr == kPread64 || nr == kReadv || nr == kPreadv || nr == kPreadv2 ||
         nr == kSendfile || nr == kReadahead;
}

bool reads_and_sends(std::int32_t nr) {
  return nr == kSendfile;
}

bool is_sleep(const wst_wait& wait) {
  switch (wait.nr) {
    case kNanosleep:
    case kClockNanosleep:
      return true;
    case kPoll:
    case kPpoll:
      return wait.args[1] == 0;
    case kSelect:
    case kPselect6:
      return wait.args[0] == 0;
    default:
      return false;
  }
}

bool is_timed_wait(std::int32_t nr) {
  return nr == kFutex || nr == kPoll || nr == kPpoll || nr == kSelect || nr == kPselect6 ||
         nr == kEpollWait || nr == kEpollPwait || nr == kEpollPwait2;
}

MutexEvidence mutex_evidence(const wst_wait& wait) {
  if (wait.nr != kFutex) return MutexEvidence::kNone;
  const std::uint64_t command = wait.args[1] & kFutexCommand;
  if (command == kFutexLockPi || command == kFutexLockPi2) return MutexEvidence::kCommand;
  const bool waits = command == kFutexWait || command == kFutexWaitBitset;
  return waits && static_cast<std::uint32_t>(wait.args[2]) == kLockedWithWaiters
             ? MutexEvidence::kValue
             : MutexEvidence::kNone;
}

}  // namespace whystall::walk
