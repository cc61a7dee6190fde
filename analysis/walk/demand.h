// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "model/leaf.h"
#include "model/recording.h"

namespace whystall::walk {

/// Tells waiting for a request from waiting for an answer.
class Demand {
 public:
  explicit Demand(const model::Recording& recording);

  /// How sure it is that `wait` ended when somebody outside of what is watched asked for something:
  /// its socket listens, or was accepted from one that does; kUnknown: it did not.
  model::Confidence awaited(const wst_wait& wait) const;
  /// Of a wait that is not over, how sure it is that it will end so.
  model::Confidence still_awaited(const wst_wait& wait) const;

 private:
  bool was_accepted(std::uint64_t ino) const;

  const model::Recording& recording_;
  std::set<std::uint64_t> listening_;                  // inodes of sockets
  std::set<std::uint16_t> ports_;                      // that are listened on
  std::set<model::Pid> servers_;                       // processes that listen
  std::map<std::uint64_t, std::uint16_t> local_port_;  // of a socket
};

}  // namespace whystall::walk
