// SPDX-License-Identifier: Apache-2.0
//
// waits DRIVER SLOWDIR: waits in each known way, one after the other, and prints what it did as the
// truth. DRIVER is mapped, so that the process can be a target; the device is not used. Starts when
// a line comes on its input. One line of JSON for each wait: name, nr, file kind, inode, who woke
// it, the times just before and after, and what else is known of it (kind.h); the first line says
// which kinds this kernel has not.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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

struct stat status_of(int fd) {
  struct stat status{};
  if (fd >= 0) must("fstat", fstat(fd, &status));
  return status;
}

/// As the kernel packs a device's number.
unsigned kernel_dev(dev_t dev) {
  return major(dev) << 20 | minor(dev);
}

void run(const Kind& kind) {
  const struct stat status = status_of(kind.prepare());
  const Facts facts = kind.facts ? kind.facts() : Facts{};
  std::string polled;
  for (const int fd : facts.polled)
    polled += (polled.empty() ? "" : ",") + std::to_string(status_of(fd).st_ino);
  const unsigned long long waker_inode = status_of(facts.waker_fd).st_ino;
  current = &kind;
  if (kind.wake) sem_post(&told);
  const std::int64_t start = now_ns();
  kind.wait();
  const std::int64_t end = now_ns();
  std::printf(
      "{\"name\":\"%s\",\"nr\":%d,\"file_kind\":\"%s\",\"inode\":%llu,\"rdev\":%u,\"waker\":\"%s\","
      "\"flags\":%u,\"waker_inode\":%llu,\"polled\":[%s],\"position\":%lld,\"owner\":%d,"
      "\"waker_tid\":%d,\"io_worker\":%d,\"start_ns\":%lld,\"end_ns\":%lld}\n",
      kind.name, kind.nr, kind.file_kind, static_cast<unsigned long long>(status.st_ino),
      kernel_dev(status.st_rdev), waker_name(kind.waker), facts.flags, waker_inode, polled.c_str(),
      static_cast<long long>(facts.position), facts.owner, facts.waker_tid, facts.io_worker,
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
  add_sets(kinds);
  add_sockets(kinds);
  add_anonymous_files(kinds);
  add_locks(kinds);
  add_processes(kinds);
  add_slow_files(kinds, argv[2]);
  std::string missing;
  for (const std::string& why : {add_32bit_calls(kinds, argv[2]), add_uring(kinds, argv[2])}) {
    if (!why.empty()) missing += (missing.empty() ? "\"" : ",\"") + why + "\"";
  }

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

  std::printf("{\"ready\":true,\"pid\":%d,\"helper_tid\":%d,\"kinds\":%zu,\"missing\":[%s]}\n",
              getpid(), helper_tid, kinds.size(), missing.c_str());
  std::fflush(stdout);
  char line[16];
  if (!std::fgets(line, sizeof line, stdin)) return 1;
  for (const Kind& kind : kinds) run(kind);
  std::fflush(stdout);
  return 0;
}
