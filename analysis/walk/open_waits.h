// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>
#include <vector>

#include "model/recording.h"

namespace whystall::walk {

/// Of waits that were not over: the thread's last one before it in the same call on the same file
/// that another task ended.
class OpenWaits {
 public:
  OpenWaits() = default;
  explicit OpenWaits(const model::Recording& recording) { see(recording); }

  /// Takes the records of a part of the recording. Parts come from the last to the first.
  void see(const model::Recording& records);

  /// Null: there was none. Valid until the next see().
  const wst_wait* last_alike(const wst_wait& wait) const;

 private:
  struct Open {
    wst_wait wait;  // the latest one of its kind
    bool found = false;
    wst_wait last;  // what was asked for
  };

  void expect(const wst_wait& wait);
  void consider(const wst_wait& wait);

  std::unordered_map<model::Tid, std::vector<Open>> threads_;
};

}  // namespace whystall::walk
