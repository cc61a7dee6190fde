// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ledger/names.h"
#include "ledger/recurrence.h"
#include "model/finding.h"
#include "model/leaf.h"

namespace whystall::ledger {

/// What one finding adds up to. Beside its objects it takes memory for the gaps that are open and
/// for a bounded number of those that were.
class Account {
 public:
  /// A piece of an open gap. Returns whether it is the first of this gap.
  bool add(const model::Leaf& leaf, const model::Object& object, std::size_t gap);

  /// By the name of code: samples of threads while they computed for it.
  std::map<std::string, std::uint64_t>& code() { return code_; }

  /// No more pieces of this gap will come. `number` as in Occurrences::add().
  void close(std::size_t gap, model::Interval at, model::Pid pid, std::uint64_t number);

  /// All but `object`: what it has in one line is told by all of its objects.
  model::Finding finding(const Names& names) const;
  const Occurrences& occurrences() const { return occurrences_; }

 private:
  /// The longest piece, of equal ones the earliest.
  struct Longest {
    model::Interval at;
    bool lineage = false;
    std::vector<model::Hop> chain;
    void see(const model::Leaf& leaf);
  };
  struct InGap {
    model::Interval gap;
    model::Pid pid = 0;
    model::DurationNs ns = 0;
    std::uint64_t pieces = 0;
    Longest longest;
  };

  model::Finding sums_;
  std::map<model::Object, model::DurationNs> objects_;
  std::map<std::string, std::uint64_t> code_;
  Longest longest_;
  std::vector<std::pair<std::size_t, InGap>> open_;
  std::vector<InGap> most_;  // of the closed ones, at most kMostEvidence
  Occurrences occurrences_;
};

}  // namespace whystall::ledger
