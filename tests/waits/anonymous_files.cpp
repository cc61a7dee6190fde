// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "kind.h"

namespace waits {

namespace {

int fd;
pid_t child;
std::uint64_t number;

void read_number() {
  must("read", read(fd, &number, sizeof number));
}

int make_signalfd() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  fd = static_cast<int>(must("signalfd", signalfd(-1, &set, 0)));
  return fd;
}

}  // namespace

void add_anonymous_files(std::vector<Kind>& kinds) {
  kinds.push_back({"read from an eventfd", SYS_read, "eventfd", Waker::kThread,
                   [] { return fd = static_cast<int>(must("eventfd", eventfd(0, 0))); },
                   read_number,
                   [] {
                     const std::uint64_t one = 1;
                     must("write", write(fd, &one, sizeof one));
                   }});
  kinds.push_back({"write to a full eventfd", SYS_write, "eventfd", Waker::kThread,
                   [] {
                     fd = static_cast<int>(must("eventfd", eventfd(0, 0)));
                     const std::uint64_t most = ~std::uint64_t{0} - 1;
                     must("write", write(fd, &most, sizeof most));
                     return fd;
                   },
                   [] {
                     const std::uint64_t one = 1;
                     must("write", write(fd, &one, sizeof one));
                   },
                   [] {
                     std::uint64_t taken;
                     must("read", read(fd, &taken, sizeof taken));
                   }});
  kinds.push_back({"read from a timerfd", SYS_read, "timerfd", Waker::kTimer,
                   [] {
                     fd = static_cast<int>(
                         must("timerfd_create", timerfd_create(CLOCK_MONOTONIC, 0)));
                     return fd;
                   },
                   [] {
                     itimerspec when{};
                     when.it_value.tv_nsec = kWaitNs;
                     must("timerfd_settime", timerfd_settime(fd, 0, &when, nullptr));
                     read_number();
                   },
                   nullptr});
  kinds.push_back({"read from a signalfd", SYS_read, "signalfd", Waker::kThread, make_signalfd,
                   [] {
                     signalfd_siginfo info;
                     must("read", read(fd, &info, sizeof info));
                   },
                   [] { must("kill", kill(getpid(), SIGUSR1)); }});
  kinds.push_back({"read from inotify", SYS_read, "inotify", Waker::kThread,
                   [] {
                     fd = static_cast<int>(must("inotify_init1", inotify_init1(0)));
                     must("inotify_add_watch", inotify_add_watch(fd, "/tmp", IN_CREATE));
                     return fd;
                   },
                   [] {
                     char events[4096];
                     must("read", read(fd, events, sizeof events));
                   },
                   [] {
                     char name[] = "/tmp/whystall-waits-XXXXXX";
                     close(static_cast<int>(must("mkstemp", mkstemp(name))));
                     unlink(name);
                   }});
  kinds.push_back({"poll of a pidfd", SYS_poll, "pidfd", Waker::kChild,
                   [] {
                     child = static_cast<pid_t>(must("fork", fork()));
                     if (child == 0) {
                       sleep_ns(2 * kWaitNs);
                       _exit(0);
                     }
                     fd = static_cast<int>(must("pidfd_open", syscall(SYS_pidfd_open, child, 0)));
                     return fd;
                   },
                   [] {
                     pollfd p{fd, POLLIN, 0};
                     must("poll", poll(&p, 1, -1));
                     waitpid(child, nullptr, 0);
                   },
                   nullptr});
  kinds.push_back({"flock of a memfd", SYS_flock, "memfd", Waker::kThread,
                   [] {
                     fd = static_cast<int>(must("memfd_create", memfd_create("waits", 0)));
                     must("flock", flock(fd, LOCK_EX));
                     // Another open file of the same memory: flock belongs to the open file.
                     const std::string path = "/proc/self/fd/" + std::to_string(fd);
                     number = static_cast<std::uint64_t>(must("open", open(path.c_str(), O_RDWR)));
                     return static_cast<int>(number);
                   },
                   [] { must("flock", flock(static_cast<int>(number), LOCK_EX)); },
                   [] { must("flock", flock(fd, LOCK_UN)); }});
}

}  // namespace waits
