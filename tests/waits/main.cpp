// SPDX-License-Identifier: Apache-2.0
//
// waits DRIVER SLOWDIR: waits in each known way, one after the other, and prints what it did as the
// truth. DRIVER is mapped, so that the process can be a target; the device is not used. Starts when
// a line comes on its input. One line of JSON for each wait: name, nr, file kind, inode, who woke
// it, and the times just before and after.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "kind.h"

namespace waits {

std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void sleep_ns(std::int64_t ns) {
  const std::int64_t end = now_ns() + ns;
  const timespec until{end / 1'000'000'000, end % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

long must(const char* what, long result) {
  if (result >= 0) return result;
  std::fprintf(stderr, "waits: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

namespace {

/// The helper thread wakes the main thread once per kind, kWaitNs after it was told to.
sem_t started, told;
const Kind* current;
pid_t helper_tid;

void* help(void*) {
  helper_tid = static_cast<pid_t>(syscall(SYS_gettid));
  sem_post(&started);
  for (;;) {
    sem_wait(&told);
    sleep_ns(kWaitNs);
    current->wake();
  }
}

const char* waker_name(Waker waker) {
  switch (waker) {
    case Waker::kThread:
      return "thread";
    case Waker::kChild:
      return "child";
    case Waker::kTimer:
      return "timer";
    case Waker::kAny:
      return "any";
  }
  return "";
}

void run(const Kind& kind) {
  const int fd = kind.prepare();
  struct stat status{};
  if (fd >= 0) must("fstat", fstat(fd, &status));
  current = &kind;
  if (kind.wake) sem_post(&told);
  const std::int64_t start = now_ns();
  kind.wait();
  const std::int64_t end = now_ns();
  std::printf(
      "{\"name\":\"%s\",\"nr\":%d,\"file_kind\":\"%s\",\"inode\":%llu,\"waker\":\"%s\",\"start_"
      "ns\":%lld,"
      "\"end_ns\":%lld}\n",
      kind.name, kind.nr, kind.file_kind,
      fd >= 0 ? static_cast<unsigned long long>(status.st_ino) : 0ULL, waker_name(kind.waker),
      static_cast<long long>(start), static_cast<long long>(end));
}

}  // namespace
}  // namespace waits

int main(int argc, char** argv) {
  using namespace waits;
  if (argc != 3) {
    std::fputs("usage: waits DRIVER SLOWDIR\n", stderr);
    return 2;
  }
  if (!dlopen(argv[1], RTLD_NOW)) {
    std::fprintf(stderr, "waits: %s\n", dlerror());
    return 1;
  }
  std::vector<Kind> kinds;
  add_times(kinds);
  add_pipes(kinds);
  add_sockets(kinds);
  add_anonymous_files(kinds);
  add_locks(kinds);
  add_processes(kinds);
  add_slow_files(kinds, argv[2]);

  // A page fault in the middle of a wait would be a wait of its own.
  mlockall(MCL_CURRENT);
  sem_init(&started, 0, 0);
  sem_init(&told, 0, 0);
  pthread_t helper;
  // Signals of the kinds are the main thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_create(&helper, nullptr, help, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  sem_wait(&started);

  std::printf("{\"ready\":true,\"pid\":%d,\"helper_tid\":%d,\"kinds\":%zu}\n", getpid(), helper_tid,
              kinds.size());
  std::fflush(stdout);
  char line[16];
  if (!std::fgets(line, sizeof line, stdin)) return 1;
  for (const Kind& kind : kinds) run(kind);
  std::fflush(stdout);
  return 0;
}
