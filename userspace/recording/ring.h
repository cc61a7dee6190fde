// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace whystall::recording {

/// Where the chunks of a recording of bounded size go: one after the other up to the limit, then
/// from the beginning again in the place of the oldest. Positions only; it reads and writes
/// nothing.
///
/// Chunks make way in groups of about a sixteenth of the room. Each group holds the identities of
/// what its records refer to, so what is left never lacks what made way.
class Ring {
 public:
  /// The bytes from `begin` to `limit` of the file; no chunk of records takes more than
  /// `chunk_bound`.
  Ring(std::uint64_t begin, std::uint64_t limit, std::uint64_t chunk_bound);

  struct Room {
    std::uint64_t at;
    std::uint64_t until;    // where the next chunk that must stay begins, or the limit
    bool made_way = false;  // chunks between the two have just made way
  };
  /// Room for a chunk of `bytes` and the header of the free chunk behind it. Nothing: it never
  /// fits.
  std::optional<Room> make_room(std::uint64_t bytes);

  /// A chunk has been written where make_room() said. True: the next one begins a new group.
  bool took(std::uint64_t bytes, std::int64_t last_ns);

  /// Time of the latest record that made way.
  std::int64_t gone_until_ns() const { return gone_until_ns_; }
  /// Whether chunks have made way; before that, the file ends where the next chunk goes.
  bool lapped() const { return lapped_; }

 private:
  struct Group {
    std::uint64_t begin;
    std::int64_t last_ns;
  };
  std::uint64_t free_until() const;

  std::uint64_t begin_, limit_, chunk_bound_, group_bytes_;
  std::uint64_t at_;
  std::deque<Group> groups_;  // oldest first
  bool new_group_ = true;
  bool lapped_ = false;
  std::int64_t gone_until_ns_ = 0;
};

}  // namespace whystall::recording
