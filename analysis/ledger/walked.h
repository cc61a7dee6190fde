// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "gaps/gaps.h"
#include "ledger/charges.h"
#include "lineage/lineage.h"
#include "walk/walk.h"

namespace whystall::ledger {

/// Gaps that are walked slab by slab, from the recording's end to its begin, and charged in two
/// views: to what was waited for (the path), and, where threads work ahead, to whose lateness it
/// was (lineage). Both conserve time.
class Walked {
 public:
  /// `path_only`: by_lineage() stays empty.
  Walked(const Names& names, const evidence::Intervals& lost, bool path_only)
      : path_only_(path_only), path_(names, lost), by_lineage_(names, lost) {}

  /// All come before the first walk(). `micro`: it is charged without a walk.
  void add(const gaps::Gap& gap, bool micro);
  void walk(const walk::Walks& walks, model::Interval slab);
  /// All slabs have been walked.
  void finish();

  const Charges& path() const { return path_; }
  /// The same as path() where nothing is relabelled().
  const Charges& by_lineage() const { return by_lineage_; }
  /// What by_lineage() does not charge as path() does.
  model::DurationNs relabelled() const { return lineage_.relabelled(); }

 private:
  struct Numbered {
    std::size_t number;
    const gaps::Gap* gap;
  };

  void sort();
  void take_answers();

  const bool path_only_;
  Charges path_, by_lineage_;
  lineage::Lineage lineage_;
  std::vector<Numbered> to_walk_, open_;
  std::size_t gaps_ = 0, next_ = 0;
  bool sorted_ = false;
};

}  // namespace whystall::ledger
