// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "model/recording.h"

namespace whystall::walk {

/// Which futex words are the lock of a Python interpreter (GIL). A thread that wants it waits on a
/// condition for the switch interval of 5 ms, asks the holder to let go, and waits again: a word on
/// which waits of a Python process ran out after just that time is such a lock. Other programs wait
/// 5 ms, too, and other intervals can be set: where the signs are missing it is a lock like any.
class InterpreterLocks {
 public:
  /// `expired`: of all waits of the recording.
  InterpreterLocks(const model::Recording& recording, const model::ExpiredWaits& expired);

  /// Whether the futex word that `wait` is on is one.
  bool is_one(const wst_wait& wait) const;

 private:
  std::set<model::ExpiredWaits::Word> locks_;
};

}  // namespace whystall::walk
