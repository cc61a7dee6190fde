// SPDX-License-Identifier: Apache-2.0
//
// Calls of the 32-bit ABI, made by `int $0x80` from this 64-bit program. What they point to lies
// below 4 GiB. In a recording they have the number of the 64-bit call that does the same.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "abi/events.h"
#include "kind.h"

namespace waits {

namespace {

/// Numbers of arch/x86/entry/syscalls/syscall_32.tbl.
enum Number32 {
  kRead = 3,
  kWrite = 4,
  kGetpid = 20,
  kNanosleep = 162,
  kPoll = 168,
  kRtSigsuspend = 179,
  kPread64 = 180,
};

struct Low {
  std::int32_t span[2];
  pollfd fds[2];
  std::uint32_t signals[2];
  char byte;
  char block[512];
};
Low* low;
int first[2], second[2], file;
/// Not told by one register.
constexpr std::int64_t kFarOffset = (std::int64_t{1} << 32) + 8192;

long call(Number32 nr, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result = nr;
  asm volatile("int $0x80"
               : "+a"(result)
               : "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
               : "memory", "cc", "r8", "r9", "r10", "r11");
  return static_cast<std::int32_t>(result);
}

long at(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}

/// In a child: a kernel without these calls sends it a signal.
bool kernel_has_them() {
  const pid_t child = static_cast<pid_t>(must("fork", fork()));
  if (child == 0) _exit(call(kGetpid) == getpid() ? 0 : 1);
  int status = 0;
  must("waitpid", waitpid(child, &status, 0));
  return status == 0;
}

int make_pipes() {
  must("pipe", pipe(first));
  must("pipe", pipe(second));
  return first[0];
}

void write_to(int fd) {
  must("write", call(kWrite, fd, at(&low->byte), 1));
}

void poll_both() {
  low->fds[0] = {first[0], POLLIN, 0};
  low->fds[1] = {second[0], POLLIN, 0};
  must("poll", call(kPoll, at(low->fds), 2, -1));
}

Facts compat() {
  return {.flags = WST_WAIT_COMPAT};
}

}  // namespace

std::string add_32bit_calls(std::vector<Kind>& kinds, const std::string& directory) {
  if (!kernel_has_them()) return "the kernel has no 32-bit calls";
  void* page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (page == MAP_FAILED) return "there is no memory below 4 GiB";
  low = static_cast<Low*>(page);
  kinds.push_back({"32-bit nanosleep", SYS_nanosleep, "", Waker::kTimer, [] { return -1; },
                   [] {
                     low->span[0] = 0;
                     low->span[1] = static_cast<std::int32_t>(kWaitNs);
                     must("nanosleep", call(kNanosleep, at(low->span)));
                   },
                   nullptr, compat});
  kinds.push_back({"32-bit read from a pipe", SYS_read, "pipe", Waker::kThread, make_pipes,
                   [] { must("read", call(kRead, first[0], at(&low->byte), 1)); },
                   [] { write_to(first[1]); }, compat});
  kinds.push_back({"32-bit poll of two pipes", SYS_poll, "pipe", Waker::kThread, make_pipes,
                   poll_both, [] { write_to(second[1]); },
                   [] {
                     return Facts{.flags = WST_WAIT_COMPAT | WST_WAIT_POLL_MORE,
                                  .waker_fd = second[1],
                                  .polled = {first[0], second[0]}};
                   }});
  const std::string path = directory + "/file.bin";
  kinds.push_back({"32-bit pread of a cold file", SYS_pread64, "regular", Waker::kAny,
                   [path] {
                     file = static_cast<int>(must(path.c_str(), open(path.c_str(), O_RDONLY)));
                     return file;
                   },
                   [] {
                     must("pread", call(kPread64, file, at(low->block), sizeof low->block,
                                        kFarOffset & 0xffffffff, kFarOffset >> 32));
                   },
                   nullptr,
                   [] { return Facts{.flags = WST_WAIT_COMPAT, .position = kFarOffset}; }});
  // Not a call that is told apart: it has no number, and above all no wrong one.
  kinds.push_back({"32-bit sigsuspend", -1, "", Waker::kThread,
                   [] {
                     std::signal(SIGUSR2, [](int) {});
                     low->signals[0] = low->signals[1] = 0;
                     return -1;
                   },
                   [] { call(kRtSigsuspend, at(low->signals), sizeof low->signals); },
                   [] { must("tgkill", syscall(SYS_tgkill, getpid(), getpid(), SIGUSR2)); },
                   compat});
  return "";
}

}  // namespace waits
