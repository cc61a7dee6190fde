// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/leaf.h"
#include "model/recording.h"

namespace whystall::ledger {

/// Which code threads were seen in while they computed.
class SeenInCode {
 public:
  /// The recording must outlive it.
  explicit SeenInCode(const model::Recording& recording);

  /// Adds the samples of thread `tid` in `at` to `counts`, by the file whose code it was in. Inside
  /// a system call, by that.
  void count(model::Tid tid, model::Interval at,
             std::map<std::string, std::uint64_t>& counts) const;

 private:
  std::string name_of(const wst_sample& sample) const;

  const model::Recording& recording_;
  std::unordered_map<model::Tid, std::vector<const wst_sample*>> threads_;  // by time
};

}  // namespace whystall::ledger
