// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "model/recording.h"

namespace whystall::walk {

/// Which futex words are the lock of a Python interpreter (GIL). A thread that wants it waits on a
/// condition for the switch interval of 5 ms, asks the holder to let go, and waits again: a word on
/// which waits of a Python process ran out after just that time is such a lock. Other programs wait
/// 5 ms, too, and other intervals can be set: where the signs are missing it is a lock like any.
class InterpreterLocks {
 public:
  /// Takes the waits of a part of the recording.
  void see(const model::Recording& records);
  /// After the last part: keeps the words of processes that `recording` says are Python's.
  void finish(const model::Recording& recording);

  /// Whether the futex word that `wait` is on is one.
  bool is_one(const wst_wait& wait) const;

 private:
  struct Word {
    model::Pid pid;
    std::uint64_t address;  // of both words of a condition, which are neighbours
    auto operator<=>(const Word&) const = default;
  };
  static Word word_of(const wst_wait& wait);

  std::map<Word, int> expired_;  // waits on it that ran out after the interval
  std::set<Word> locks_;
};

}  // namespace whystall::walk
