// SPDX-License-Identifier: Apache-2.0
#include "walk/demand.h"

#include "walk/wait_kind.h"

namespace whystall::walk {

using model::Confidence;

Demand::Demand(const model::Recording& recording) : recording_(recording) {
  for (const wst_end& end : recording.ends) {
    if (end.flags & WST_END_LISTENS) {
      listening_.insert(end.ino);
      servers_.insert(end.tgid);
      if (end.file_kind == WST_FILE_INET) ports_.insert(end.local_port);
    }
    if (end.file_kind != WST_FILE_INET) continue;
    local_port_[end.ino] = end.local_port;
  }
}

bool Demand::was_accepted(std::uint64_t ino) const {
  const auto port = local_port_.find(ino);
  return port != local_port_.end() && ports_.contains(port->second);
}

Confidence Demand::awaited(const wst_wait& wait) const {
  if (!is_receive(wait.nr) || !(wait.flags & WST_WAIT_WOKEN)) return Confidence::kUnknown;
  const bool remote = is_ended_by_packet(wait);
  if (!remote) {
    if (wait.waker_context != WST_CTX_TASK && wait.waker_context != WST_CTX_LOCALNET)
      return Confidence::kUnknown;
    // One of the watched processes that asks another is a step of the work.
    const auto waker = recording_.tasks.find(wait.waker_tid);
    if (waker != recording_.tasks.end() && waker->second.target) return Confidence::kUnknown;
  }
  if (wait.file_kind == WST_FILE_INET || wait.file_kind == WST_FILE_UNIX) {
    const bool asked = listening_.contains(wait.ino) || was_accepted(wait.ino);
    return asked ? Confidence::kProven : Confidence::kUnknown;
  }
  // Which socket of the set it was is not told.
  const bool by_network = remote || wait.waker_context == WST_CTX_LOCALNET;
  return wait.file_kind == WST_FILE_EPOLL && by_network && servers_.contains(wait.tgid)
             ? Confidence::kLikely
             : Confidence::kUnknown;
}

Confidence Demand::still_awaited(const wst_wait& wait) const {
  if (!is_receive(wait.nr)) return Confidence::kUnknown;
  const bool socket = wait.file_kind == WST_FILE_INET || wait.file_kind == WST_FILE_UNIX;
  if (socket && (listening_.contains(wait.ino) || was_accepted(wait.ino)))
    return Confidence::kLikely;
  const bool set = wait.file_kind == WST_FILE_EPOLL && servers_.contains(wait.tgid);
  return set ? Confidence::kEstimated : Confidence::kUnknown;
}

}  // namespace whystall::walk
