// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "evidence/intervals.h"
#include "gaps/gaps.h"
#include "ledger/accounts.h"
#include "model/leaf.h"

namespace whystall::ledger {

/// When records of threads' states were lost.
evidence::Intervals lost_states(const std::vector<wst_loss>& losses);

/// Charges what a list of gaps went to. A gap may come in parts, from its end to its begin; what
/// the end of a part has cut is put together again.
class Charges {
 public:
  /// `names` and `lost` must outlive it.
  Charges(const Names& names, const evidence::Intervals& lost) : lost_(lost), accounts_(names) {}

  /// Leaves of the gap with this number, by time, that end where the last ones that it got begin.
  void add(std::vector<model::Leaf> leaves, std::size_t gap, model::Pid launcher);
  /// The gap, which lay at `at`, gets no more.
  void close(std::size_t gap, model::Interval at, model::Pid launcher);

  model::DurationNs charged() const { return charged_; }
  model::DurationNs no_demand() const { return no_demand_; }
  /// Of what was charged, in leaves within which records of threads' states were lost.
  model::DurationNs where_lost() const { return where_lost_; }
  /// All gaps must be closed.
  const Accounts& accounts() const { return accounts_; }

 private:
  struct Pending {
    std::size_t gap;
    model::Pid launcher;
    model::Leaf leaf;
  };

  void take(model::Leaf leaf, std::size_t gap, model::Pid launcher);
  void charge(Pending& pending);

  const evidence::Intervals& lost_;
  Accounts accounts_;
  std::vector<Pending> pending_;  // one of each gap that is not closed
  model::DurationNs charged_ = 0, no_demand_ = 0, where_lost_ = 0;
};

}  // namespace whystall::ledger
