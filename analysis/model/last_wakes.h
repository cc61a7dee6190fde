// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "abi/events.h"
#include "abi/syscalls.h"
#include "model/last_wait.h"
#include "model/time.h"

namespace whystall::model {

/// Of each thread, call and file: the last wait that another task ended. Records may come in any
/// order.
class LastWakes {
 public:
  /// More than programs wait for; bounds the memory to some 16 MiB.
  static constexpr std::size_t kMost = 1 << 16;

  void see(const wst_wait& wait) {
    if (!counts(wait.nr, wait.file_kind, wait.flags, wait.waker_context)) return;
    if (!(wait.flags & (WST_WAIT_BLOCKED | WST_WAIT_BORN))) return;
    take(wait);
  }
  void see(const wst_sums& head, const wst_sum& sum) {
    if (!counts(sum.nr, sum.file_kind, sum.flags, sum.waker_context)) return;
    take(last_wait(head, sum));
  }

  /// In the same call on the same file as `wait`; null: there was none.
  const wst_wait* like(const wst_wait& wait) const {
    const auto found = last_.find(key_of(wait));
    return wait.file_kind == WST_FILE_NONE || found == last_.end() ? nullptr : &found->second;
  }

 private:
  struct Key {
    std::uint64_t ino;
    std::uint32_t dev, tid;
    std::int32_t nr;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
      std::uint64_t hash = key.ino * kOdd + key.dev;
      hash = (hash ^ hash >> 29) * kOdd + key.tid;
      hash = (hash ^ hash >> 29) * kOdd + static_cast<std::uint32_t>(key.nr);
      return hash ^ hash >> 32;
    }
  };

  /// Reads of files are charged to the file, whoever ended them.
  static bool counts(std::int32_t nr, std::uint8_t kind, std::uint32_t flags,
                     std::uint8_t context) {
    if (kind == WST_FILE_NONE || !(flags & WST_WAIT_WOKEN)) return false;
    if (context != WST_CTX_TASK && context != WST_CTX_LOCALNET) return false;
    return kind != WST_FILE_REGULAR || nr == WST_NR_FLOCK || nr == WST_NR_FCNTL;
  }
  static Key key_of(const wst_wait& wait) { return {wait.ino, wait.dev, wait.tid, wait.nr}; }

  void take(const wst_wait& wait) {
    const auto known = last_.find(key_of(wait));
    if (known == last_.end()) {
      if (last_.size() < kMost) last_.emplace(key_of(wait), wait);
    } else if (known->second.out_ns < wait.out_ns) {
      known->second = wait;
    }
  }

  std::unordered_map<Key, wst_wait, Hash> last_;
};

}  // namespace whystall::model
