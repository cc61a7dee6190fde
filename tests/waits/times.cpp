// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "kind.h"

namespace waits {

namespace {

constexpr int kWaitMs = static_cast<int>(kWaitNs / 1'000'000);
int none() {
  return -1;
}

}  // namespace

void add_times(std::vector<Kind>& kinds) {
  kinds.push_back({"clock_nanosleep", SYS_clock_nanosleep, "", Waker::kTimer, none,
                   [] { sleep_ns(kWaitNs); }, nullptr});
  kinds.push_back({"clock_nanosleep until a time", SYS_clock_nanosleep, "", Waker::kTimer, none,
                   [] {
                     const std::int64_t end = now_ns() + kWaitNs;
                     const timespec until{end / 1'000'000'000, end % 1'000'000'000};
                     clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
                   },
                   nullptr});
  kinds.push_back({"nanosleep", SYS_nanosleep, "", Waker::kTimer, none,
                   [] {
                     const timespec span{0, kWaitNs};
                     must("nanosleep", syscall(SYS_nanosleep, &span, nullptr));
                   },
                   nullptr});
  kinds.push_back({"poll of nothing", SYS_poll, "", Waker::kTimer, none,
                   [] { must("poll", poll(nullptr, 0, kWaitMs)); }, nullptr});
  kinds.push_back({"select of nothing", SYS_pselect6, "", Waker::kTimer, none,
                   [] {
                     timespec span{0, kWaitNs};
                     must("pselect", pselect(0, nullptr, nullptr, nullptr, &span, nullptr));
                   },
                   nullptr});
  kinds.push_back({"epoll that runs out", SYS_epoll_wait, "epoll", Waker::kTimer,
                   [] { return static_cast<int>(must("epoll_create1", epoll_create1(0))); },
                   [] {
                     const int fd = static_cast<int>(must("epoll_create1", epoll_create1(0)));
                     epoll_event event;
                     must("epoll_wait", syscall(SYS_epoll_wait, fd, &event, 1, kWaitMs));
                     close(fd);
                   },
                   nullptr});
}

}  // namespace waits
