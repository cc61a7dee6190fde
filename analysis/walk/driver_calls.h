// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "model/recording.h"

namespace whystall::walk {

/// When threads were inside a driver call that waits or that takes long, or polled the driver.
class DriverCalls {
 public:
  explicit DriverCalls(const model::Recording& recording);

  /// The call that thread `tid` was in just before `t`; null: none that was recorded.
  const wst_api* before(model::Tid tid, model::TimeNs t) const;
  /// The end of the last one that ended at or before `t`; 0: there was none.
  model::TimeNs ended_before(model::Tid tid, model::TimeNs t) const;

 private:
  std::map<model::Tid, std::vector<const wst_api*>> threads_;  // by entry, disjoint
};

}  // namespace whystall::walk
