// SPDX-License-Identifier: Apache-2.0
//
// Calls that wait for several files at once. The second one ends the wait.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "abi/events.h"
#include "kind.h"

namespace waits {

namespace {

/// Beyond what one word of a set of descriptors holds.
constexpr int kHighFd = 200;

int first[2], second[2];
int epoll_fd;
char byte;

int make_two_pipes() {
  must("pipe", pipe(first));
  must("pipe", pipe(second));
  return first[0];
}

int make_two_pipes_far_apart() {
  make_two_pipes();
  must("dup2", dup2(second[0], kHighFd));
  close(second[0]);
  second[0] = kHighFd;
  return first[0];
}

void write_to_second() {
  must("write", write(second[1], &byte, 1));
}

Facts both() {
  return {.flags = WST_WAIT_POLL_MORE, .waker_fd = second[1], .polled = {first[0], second[0]}};
}

void select_both() {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(first[0], &set);
  FD_SET(second[0], &set);
  must("select",
       syscall(SYS_select, std::max(first[0], second[0]) + 1, &set, nullptr, nullptr, nullptr));
}

}  // namespace

void add_sets(std::vector<Kind>& kinds) {
  kinds.push_back({"poll of two pipes", SYS_poll, "pipe", Waker::kThread, make_two_pipes,
                   [] {
                     pollfd p[] = {{first[0], POLLIN, 0}, {second[0], POLLIN, 0}};
                     must("poll", poll(p, 2, -1));
                   },
                   write_to_second, both});
  kinds.push_back({"ppoll of two pipes", SYS_ppoll, "pipe", Waker::kThread, make_two_pipes,
                   [] {
                     pollfd p[] = {{first[0], POLLIN, 0}, {second[0], POLLIN, 0}};
                     must("ppoll", ppoll(p, 2, nullptr, nullptr));
                   },
                   write_to_second, both});
  kinds.push_back({"select of two pipes", SYS_select, "pipe", Waker::kThread, make_two_pipes,
                   select_both, write_to_second, both});
  kinds.push_back({"select of two pipes, one for reading", SYS_pselect6, "pipe", Waker::kThread,
                   make_two_pipes,
                   [] {
                     fd_set reads, errors;
                     FD_ZERO(&reads);
                     FD_ZERO(&errors);
                     FD_SET(first[0], &errors);
                     FD_SET(second[0], &reads);
                     must("pselect", pselect(std::max(first[0], second[0]) + 1, &reads, nullptr,
                                             &errors, nullptr, nullptr));
                   },
                   write_to_second, both});
  kinds.push_back({"select of two pipes with numbers far apart", SYS_select, "pipe", Waker::kThread,
                   make_two_pipes_far_apart, select_both, write_to_second, both});
  kinds.push_back({"epoll of two pipes", SYS_epoll_wait, "epoll", Waker::kThread,
                   [] {
                     make_two_pipes();
                     epoll_fd = static_cast<int>(must("epoll_create1", epoll_create1(0)));
                     for (const int fd : {first[0], second[0]}) {
                       epoll_event event{};
                       event.events = EPOLLIN;
                       must("epoll_ctl", epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event));
                     }
                     return epoll_fd;
                   },
                   [] {
                     epoll_event event;
                     must("epoll_wait", syscall(SYS_epoll_wait, epoll_fd, &event, 1, -1));
                   },
                   write_to_second, [] { return Facts{.waker_fd = second[1]}; }});
}

}  // namespace waits
