// SPDX-License-Identifier: Apache-2.0
#include "recording/ring.h"

#include <algorithm>

#include "recording/format.h"

namespace whystall::recording {

namespace {

constexpr std::uint64_t kGroups = 16;
/// A free chunk spans little more than a group: this keeps it within what a reader believes.
constexpr std::uint64_t kMaxGroupBytes = 16u << 20;

}  // namespace

Ring::Ring(std::uint64_t begin, std::uint64_t limit, std::uint64_t chunk_bound)
    : begin_(begin),
      limit_(limit),
      chunk_bound_(chunk_bound),
      group_bytes_(std::min((limit - begin) / kGroups, kMaxGroupBytes)),
      at_(begin) {}

std::uint64_t Ring::free_until() const {
  return !groups_.empty() && groups_.front().begin >= at_ ? groups_.front().begin : limit_;
}

std::optional<Ring::Room> Ring::make_room(std::uint64_t bytes) {
  const std::uint64_t needed = bytes + sizeof(ChunkHeader);
  if (needed > limit_ - begin_) return std::nullopt;
  Room room{at_, free_until()};
  while (room.at + needed > room.until) {
    if (room.until == limit_) {
      // The end of the room. took() has turned around before, unless this is a chunk of meta.
      room = {at_ = begin_, free_until()};
      new_group_ = true;
      continue;
    }
    gone_until_ns_ = std::max(gone_until_ns_, groups_.front().last_ns);
    groups_.pop_front();
    lapped_ = room.made_way = true;
    room.until = free_until();
  }
  return room;
}

bool Ring::took(std::uint64_t bytes, std::int64_t last_ns) {
  if (new_group_) groups_.push_back({at_, last_ns});
  groups_.back().last_ns = std::max(groups_.back().last_ns, last_ns);
  at_ += bytes;
  new_group_ = at_ - groups_.back().begin >= group_bytes_;
  if (at_ + chunk_bound_ > limit_) {
    // Turned around here and not when the next chunk does not fit: its records are gathered knowing
    // which identities their group holds.
    at_ = begin_;
    new_group_ = true;
  }
  return new_group_;
}

}  // namespace whystall::recording
