// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "lineage/late.h"
#include "model/leaf.h"
#include "walk/walk.h"

namespace whystall::lineage {

/// One that is walked; `number` tells it from others.
struct Gap {
  std::size_t number = 0;
  model::Pid launcher = 0;
  model::Interval at;
  model::Confidence confidence = model::Confidence::kProven;
};

/// What a gap is charged to.
struct Answer {
  std::size_t number = 0;
  model::Pid launcher = 0;
  model::Interval at;
  std::vector<model::Leaf> leaves;  // the last one first; they sum to the gap
};

/// Charges gaps to whose lateness they were (the lineage view), where threads work ahead.
///
/// The walk tells what was waited for in the gap itself. Of a thread that works ahead, a loader
/// that always has its next item in work, that is only the end of the item: with reading first and
/// decoding last, it says decoding, whatever made the item late. So what of a gap was waited for a
/// delivery of such a thread is charged to what the thread did since it last made anybody wait for
/// a delivery, or since it last waited for work itself, or its own source: in that period its
/// lateness came about. Where hardly any of the period lies before the gap, the walk's own answer
/// stands. Source: attribution by service time, excess first.
///
/// The rest of a gap stays as it was walked. Time is conserved exactly. Memory: some 25 MB for
/// those gaps that are not taken yet.
class Lineage {
 public:
  Lineage();
  ~Lineage();

  /// The leaves of a part of a gap, by time. A gap's parts come from its end to its begin, and gaps
  /// that end last begin to come first.
  void add(const walk::Walks& walks, const Gap& gap, const std::vector<model::Leaf>& part);

  /// Goes back in the slab of time that `walks` knows, when all parts of gaps in it were added.
  void go_back(const walk::Walks& walks, model::Interval slab);

  /// No slab comes any more.
  void finish();

  /// The next gap whose answer is known, in the order in which they were begun; see finish().
  /// False: there is none yet.
  bool take(Answer& answer);

  /// Of all gaps taken: what was charged by this view and not by the walk's.
  model::DurationNs relabelled() const { return relabelled_; }

 private:
  struct Held;

  std::deque<std::unique_ptr<Held>> gaps_;
  std::unordered_map<std::size_t, Held*> open_;
  std::vector<std::shared_ptr<Late>> late_;  // those that still go back
  /// Times of deliveries that were waited for in the slab, by who made them.
  std::unordered_map<model::Tid, std::vector<model::TimeNs>> deliveries_;
  Usual usual_;
  std::size_t held_ = 0;  // see kMostHeld
  model::DurationNs relabelled_ = 0;
  bool finished_ = false;
};

}  // namespace whystall::lineage
