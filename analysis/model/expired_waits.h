// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>

#include "abi/events.h"
#include "abi/syscalls.h"
#include "model/time.h"

namespace whystall::model {

/// Waits on futex words that ran out after 5 ms, which is how long a thread of a Python interpreter
/// waits for its lock before it asks the holder to let go. Records may come in any order.
class ExpiredWaits {
 public:
  struct Word {
    Pid pid;
    std::uint64_t address;  // of both words of a condition, which are neighbours
    auto operator<=>(const Word&) const = default;
  };

  void see(const wst_wait& wait) {
    if (!ran_out(wait)) return;
    const auto known = counts_.find(word_of(wait));
    if (known != counts_.end())
      known->second++;
    else if (counts_.size() < kMost)
      counts_[word_of(wait)] = 1;
  }

  static Word word_of(const wst_wait& wait) {
    return {wait.tgid, wait.args[0] & ~std::uint64_t{7}};
  }
  const std::map<Word, std::uint64_t>& counts() const { return counts_; }

 private:
  /// Of a recording that lies; an interpreter has one word.
  static constexpr std::size_t kMost = 100'000;
  /// How early or late a timer may end a wait of that length.
  static constexpr DurationNs kIntervalNs = 5'000'000, kEarlyNs = 50'000, kLateNs = 500'000;

  static bool ran_out(const wst_wait& wait) {
    if (wait.nr != WST_NR_FUTEX || !(wait.flags & WST_WAIT_WOKEN) ||
        wait.waker_context != WST_CTX_TIMER || wait.wake_ns < wait.out_ns)
      return false;
    const auto length = static_cast<DurationNs>(wait.wake_ns - wait.out_ns);
    return length >= kIntervalNs - kEarlyNs && length <= kIntervalNs + kLateNs;
  }

  std::map<Word, std::uint64_t> counts_;
};

}  // namespace whystall::model
