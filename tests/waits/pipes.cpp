// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>

#include "kind.h"

namespace waits {

namespace {

int ends[2];
int epoll_fd, master, terminal;
char byte;

int make_pipe() {
  must("pipe", pipe(ends));
  return ends[0];
}

int make_full_pipe() {
  must("pipe", pipe2(ends, O_NONBLOCK));
  char block[4096] = {};
  while (write(ends[1], block, sizeof block) > 0) {
  }
  must("fcntl", fcntl(ends[1], F_SETFL, 0));
  return ends[1];
}

int make_epoll() {
  make_pipe();
  epoll_fd = static_cast<int>(must("epoll_create1", epoll_create1(0)));
  epoll_event event{};
  event.events = EPOLLIN;
  must("epoll_ctl", epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ends[0], &event));
  return epoll_fd;
}

void write_byte() {
  must("write", write(ends[1], &byte, 1));
}

Facts woken_by_pipe() {
  return {.waker_fd = ends[1]};
}

void drain_pipe() {
  char block[65536];
  must("read", read(ends[0], block, sizeof block));
}

std::string fifo_path() {
  return "/tmp/whystall-waits-" + std::to_string(getpid());
}

}  // namespace

void add_pipes(std::vector<Kind>& kinds) {
  kinds.push_back({"read from a pipe", SYS_read, "pipe", Waker::kThread, make_pipe,
                   [] { must("read", read(ends[0], &byte, 1)); }, write_byte});
  kinds.push_back({"readv from a pipe", SYS_readv, "pipe", Waker::kThread, make_pipe,
                   [] {
                     iovec part{&byte, 1};
                     must("readv", readv(ends[0], &part, 1));
                   },
                   write_byte});
  kinds.push_back({"write to a full pipe", SYS_write, "pipe", Waker::kThread, make_full_pipe,
                   write_byte, drain_pipe});
  kinds.push_back({"writev to a full pipe", SYS_writev, "pipe", Waker::kThread, make_full_pipe,
                   [] {
                     iovec part{&byte, 1};
                     must("writev", writev(ends[1], &part, 1));
                   },
                   drain_pipe});
  kinds.push_back({"poll of a pipe", SYS_poll, "pipe", Waker::kThread, make_pipe,
                   [] {
                     pollfd p{ends[0], POLLIN, 0};
                     must("poll", poll(&p, 1, -1));
                   },
                   write_byte, woken_by_pipe});
  kinds.push_back({"ppoll of a pipe", SYS_ppoll, "pipe", Waker::kThread, make_pipe,
                   [] {
                     pollfd p{ends[0], POLLIN, 0};
                     must("ppoll", ppoll(&p, 1, nullptr, nullptr));
                   },
                   write_byte, woken_by_pipe});
  kinds.push_back({"select of a pipe", SYS_pselect6, "pipe", Waker::kThread,
                   [] {
                     make_pipe();
                     return ends[0];
                   },
                   [] {
                     fd_set set;
                     FD_ZERO(&set);
                     FD_SET(ends[0], &set);
                     must("pselect",
                          pselect(ends[0] + 1, &set, nullptr, nullptr, nullptr, nullptr));
                   },
                   write_byte, woken_by_pipe});
  kinds.push_back({"epoll_wait", SYS_epoll_wait, "epoll", Waker::kThread, make_epoll,
                   [] {
                     epoll_event event;
                     must("epoll_wait", syscall(SYS_epoll_wait, epoll_fd, &event, 1, -1));
                   },
                   write_byte, woken_by_pipe});
  kinds.push_back({"epoll_pwait", SYS_epoll_pwait, "epoll", Waker::kThread, make_epoll,
                   [] {
                     epoll_event event;
                     must("epoll_pwait", epoll_pwait(epoll_fd, &event, 1, -1, nullptr));
                   },
                   write_byte, woken_by_pipe});
  kinds.push_back({"epoll_pwait2", SYS_epoll_pwait2, "epoll", Waker::kThread, make_epoll,
                   [] {
                     epoll_event event;
                     must("epoll_pwait2",
                          syscall(SYS_epoll_pwait2, epoll_fd, &event, 1, nullptr, nullptr, 0));
                   },
                   write_byte, woken_by_pipe});
  kinds.push_back(
      {"open of a fifo", SYS_openat, "pipe", Waker::kThread,
       [] {
         unlink(fifo_path().c_str());
         must("mkfifo", mkfifo(fifo_path().c_str(), 0600));
         return -1;
       },
       [] { close(static_cast<int>(must("open", open(fifo_path().c_str(), O_RDONLY)))); },
       [] {
         must("open", open(fifo_path().c_str(), O_WRONLY));
         unlink(fifo_path().c_str());
       }});
  kinds.push_back({"read from a terminal", SYS_read, "char", Waker::kAny,
                   [] {
                     must("openpty", openpty(&master, &terminal, nullptr, nullptr, nullptr));
                     return terminal;
                   },
                   [] { must("read", read(terminal, &byte, 1)); },
                   [] { must("write", write(master, "\n", 1)); }});
  kinds.push_back({"read from a terminal's other end", SYS_read, "char", Waker::kAny,
                   [] {
                     must("openpty", openpty(&master, &terminal, nullptr, nullptr, nullptr));
                     return master;
                   },
                   [] { must("read", read(master, &byte, 1)); },
                   [] { must("write", write(terminal, "x", 1)); }});
}

}  // namespace waits
