// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "kind.h"

namespace waits {

namespace {

int ends[2];
int listener;
char byte;
sockaddr_storage address;
socklen_t address_length;

int unix_pair(int type) {
  must("socketpair", socketpair(AF_UNIX, type, 0, ends));
  return ends[0];
}

/// A listener whose address is in `address`.
int make_listener(int family, int type, int backlog) {
  listener = static_cast<int>(must("socket", socket(family, type, 0)));
  std::memset(&address, 0, sizeof address);
  address_length = sizeof address;
  if (family == AF_INET) {
    auto* in = reinterpret_cast<sockaddr_in*>(&address);
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must("bind", bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof *in));
  } else {
    // Abstract and chosen by the kernel.
    const sa_family_t family_only = AF_UNIX;
    must("bind",
         bind(listener, reinterpret_cast<const sockaddr*>(&family_only), sizeof family_only));
  }
  must("getsockname",
       getsockname(listener, reinterpret_cast<sockaddr*>(&address), &address_length));
  if (type == SOCK_STREAM) must("listen", listen(listener, backlog));
  return listener;
}

int connect_to_listener(int family, int type) {
  const int s = static_cast<int>(must("socket", socket(family, type, 0)));
  must("connect", connect(s, reinterpret_cast<sockaddr*>(&address), address_length));
  return s;
}

int tcp_pair() {
  make_listener(AF_INET, SOCK_STREAM, 1);
  ends[1] = connect_to_listener(AF_INET, SOCK_STREAM);
  ends[0] = static_cast<int>(must("accept", accept(listener, nullptr, nullptr)));
  return ends[0];
}

int udp_pair() {
  ends[0] = make_listener(AF_INET, SOCK_DGRAM, 0);
  ends[1] = connect_to_listener(AF_INET, SOCK_DGRAM);
  return ends[0];
}

void fill(int s) {
  char block[65536] = {};
  while (send(s, block, sizeof block, MSG_DONTWAIT) > 0) {
  }
}

void receive() {
  must("recv", recv(ends[0], &byte, 1, 0));
}
void send_byte() {
  must("send", send(ends[1], &byte, 1, 0));
}
void send_back() {
  must("send", send(ends[0], &byte, 1, 0));
}

void drain() {
  static char block[1 << 20];
  for (ssize_t n = 1; n > 0;) n = recv(ends[1], block, sizeof block, MSG_DONTWAIT);
}

}  // namespace

void add_sockets(std::vector<Kind>& kinds) {
  kinds.push_back({"recv from a unix stream", SYS_recvfrom, "unix", Waker::kThread,
                   [] { return unix_pair(SOCK_STREAM); }, receive, send_byte});
  kinds.push_back({"recv from a unix datagram socket", SYS_recvfrom, "unix", Waker::kThread,
                   [] { return unix_pair(SOCK_DGRAM); }, receive, send_byte});
  kinds.push_back({"recvmsg from a unix stream", SYS_recvmsg, "unix", Waker::kThread,
                   [] { return unix_pair(SOCK_STREAM); },
                   [] {
                     iovec part{&byte, 1};
                     msghdr message{};
                     message.msg_iov = &part;
                     message.msg_iovlen = 1;
                     must("recvmsg", recvmsg(ends[0], &message, 0));
                   },
                   send_byte});
  kinds.push_back({"recvmmsg from a unix stream", SYS_recvmmsg, "unix", Waker::kThread,
                   [] { return unix_pair(SOCK_STREAM); },
                   [] {
                     iovec part{&byte, 1};
                     mmsghdr message{};
                     message.msg_hdr.msg_iov = &part;
                     message.msg_hdr.msg_iovlen = 1;
                     must("recvmmsg", recvmmsg(ends[0], &message, 1, 0, nullptr));
                   },
                   send_byte});
  kinds.push_back({"read from a unix stream", SYS_read, "unix", Waker::kThread,
                   [] { return unix_pair(SOCK_STREAM); },
                   [] { must("read", read(ends[0], &byte, 1)); }, send_byte});
  kinds.push_back({"send to a full unix stream", SYS_sendto, "unix", Waker::kThread,
                   [] {
                     const int s = unix_pair(SOCK_STREAM);
                     fill(s);
                     return s;
                   },
                   send_back, drain});
  kinds.push_back({"accept on a unix socket", SYS_accept, "unix", Waker::kThread,
                   [] { return make_listener(AF_UNIX, SOCK_STREAM, 1); },
                   [] { must("accept", accept(listener, nullptr, nullptr)); },
                   [] { connect_to_listener(AF_UNIX, SOCK_STREAM); }});
  kinds.push_back(
      {"connect to a unix socket with a full backlog", SYS_connect, "unix", Waker::kThread,
       [] {
         make_listener(AF_UNIX, SOCK_STREAM, 0);
         connect_to_listener(AF_UNIX, SOCK_STREAM);
         ends[0] = static_cast<int>(must("socket", socket(AF_UNIX, SOCK_STREAM, 0)));
         return ends[0];
       },
       [] {
         must("connect", connect(ends[0], reinterpret_cast<sockaddr*>(&address), address_length));
       },
       [] { must("accept", accept(listener, nullptr, nullptr)); }});
  kinds.push_back({"recv from TCP over loopback", SYS_recvfrom, "inet", Waker::kThread, tcp_pair,
                   receive, send_byte});
  kinds.push_back({"recv from UDP over loopback", SYS_recvfrom, "inet", Waker::kThread, udp_pair,
                   receive, send_byte});
  kinds.push_back({"accept on a TCP socket", SYS_accept4, "inet", Waker::kAny,
                   [] { return make_listener(AF_INET, SOCK_STREAM, 1); },
                   [] { must("accept4", accept4(listener, nullptr, nullptr, 0)); },
                   [] { connect_to_listener(AF_INET, SOCK_STREAM); }});
  kinds.push_back({"send to a full TCP connection", SYS_sendto, "inet", Waker::kAny,
                   [] {
                     const int s = tcp_pair();
                     fill(s);
                     return s;
                   },
                   send_back, drain});
}

}  // namespace waits
