// SPDX-License-Identifier: Apache-2.0
#include "walk/other_ends.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "walk/wait_kind.h"

namespace whystall::walk {

using model::Pid;

namespace {

bool is_loopback(const wst_end& end) {
  static constexpr std::uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (end.family != AF_INET6) return end.remote_address[0] == 127;
  if (std::memcmp(end.remote_address, kMapped, sizeof kMapped) == 0)
    return end.remote_address[12] == 127;
  return std::all_of(end.remote_address, end.remote_address + 15,
                     [](std::uint8_t byte) { return byte == 0; });
}

/// The only one but `self`; 0: none or several.
Pid only_other(const std::map<std::uint64_t, std::set<Pid>>& sets, std::uint64_t ino, Pid self) {
  const auto found = sets.find(ino);
  if (found == sets.end()) return 0;
  Pid other = 0;
  for (const Pid pid : found->second) {
    if (pid == self) continue;
    if (other != 0) return 0;
    other = pid;
  }
  return other;
}

}  // namespace

OtherEnds::OtherEnds(const model::Recording& recording) {
  for (const wst_end& end : recording.ends) {
    if (end.file_kind == WST_FILE_PIPE) {
      if (end.flags & WST_END_READS) readers_[end.ino].insert(end.tgid);
      if (end.flags & WST_END_WRITES) writers_[end.ino].insert(end.tgid);
      continue;
    }
    holders_[end.ino].insert(end.tgid);
    const std::uint32_t ports = std::uint32_t{end.local_port} << 16 | end.remote_port;
    const bool same =
        std::memcmp(end.local_address, end.remote_address, sizeof end.local_address) == 0;
    const bool remote =
        end.file_kind == WST_FILE_INET && end.remote_port != 0 && !is_loopback(end) && !same;
    sockets_[end.ino] = {end.peer_ino, ports, remote};
    if (end.file_kind == WST_FILE_INET && !remote) by_ports_[ports].insert(end.tgid);
  }
}

Pid OtherEnds::of(const wst_wait& wait) const {
  if (wait.file_kind == WST_FILE_PIPE)
    return only_other(is_send(wait.nr) ? readers_ : writers_, wait.ino, wait.tgid);
  const auto socket = sockets_.find(wait.ino);
  if (socket == sockets_.end()) return 0;
  if (socket->second.peer_ino != 0) return only_other(holders_, socket->second.peer_ino, wait.tgid);
  const std::uint32_t ports = socket->second.ports;
  const auto peers = by_ports_.find(ports << 16 | ports >> 16);
  return peers != by_ports_.end() && peers->second.size() == 1 ? *peers->second.begin() : 0;
}

bool OtherEnds::is_remote(std::uint64_t ino) const {
  const auto socket = sockets_.find(ino);
  return socket != sockets_.end() && socket->second.remote;
}

}  // namespace whystall::walk
