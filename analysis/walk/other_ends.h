// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "model/recording.h"

namespace whystall::walk {

/// Who holds the other ends of pipes and sockets, as listed when the recording ended.
class OtherEnds {
 public:
  explicit OtherEnds(const model::Recording& recording);

  /// The one process at the other end of what `wait` is on, for a pipe the readers' end when the
  /// wait sends and the writers' when it receives; 0 when there is none, or several.
  model::Pid of(const wst_wait& wait) const;
  /// Whether the network socket's peer is on another host; false when that is not known.
  bool is_remote(std::uint64_t ino) const;

 private:
  struct Socket {
    std::uint64_t peer_ino;
    std::uint32_t ports;  // local << 16 | remote
    bool remote;
  };
  std::map<std::uint64_t, std::set<model::Pid>> readers_, writers_, holders_;
  std::map<std::uint64_t, Socket> sockets_;
  std::map<std::uint32_t, std::set<model::Pid>> by_ports_;
};

}  // namespace whystall::walk
