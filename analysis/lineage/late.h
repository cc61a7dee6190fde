// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "lineage/period.h"
#include "lineage/producer.h"
#include "walk/walk.h"

namespace whystall::lineage {

/// A part of a gap in which a delivery was waited for, and what is known of the thread that made
/// it.
class Late {
 public:
  /// Begins at the end of the leaf. Nothing is surer than `gap`, which lies there.
  Late(const model::Leaf& leaf, Delivery delivery, model::Confidence gap);

  /// Whether the leaf, which ends where the part begins, belongs to it.
  bool goes_on_with(const model::Leaf& leaf, Delivery delivery) const;
  void add(const walk::Walks& walks, const model::Leaf& leaf);

  model::Tid producer() const { return producer_; }
  model::Interval at() const { return at_; }
  model::TimeNs delivered() const { return delivery_.at; }

  /// Goes back in what the thread did before, to `lo` or as far as it matters.
  void go_back(const walk::Walks& walks, model::TimeNs lo);
  /// Nothing before matters.
  void end();
  /// The thread made a delivery there that was waited for too: its lateness is that one's.
  void end_at_delivery() {
    goes_on_ = state_ == State::kInPeriod;
    end();
  }
  /// How many leaves the walk gave, and, when it has ended, what its period takes as much memory
  /// as.
  std::size_t walked() const { return path_.size(); }
  std::size_t pieces() const { return 4 * period_.objects(); }
  bool ended() const { return state_ == State::kEnded; }

  /// What its pieces were like.
  void add_usual(Usual& usual) const;
  /// Answers. Where the period goes on with that of the delivery before, `left` is what that one
  /// left; it becomes what this one leaves.
  void settle(const Usual& usual, Excess& left);
  bool settled() const { return settled_; }
  /// Once it is settled. The last one first; they sum to the part.
  const std::vector<model::Leaf>& leaves() const { return by_lineage_ ? lineage_ : path_; }
  /// Whether they are not as walked.
  bool by_lineage() const { return by_lineage_; }

 private:
  /// After its period, the thread is looked at for some time more, to know what is usual.
  enum class State { kInPeriod, kBefore, kEnded };

  void see(const walk::Walks& walks, model::Leaf leaf);
  bool waits_for_work(const walk::Walks& walks, const model::Leaf& leaf) const;
  model::Confidence sureness(model::Cause cause) const;
  model::TimeNs enough() const;
  void leave_period(model::TimeNs begin);
  void take_pending();

  model::Interval at_;
  Delivery delivery_;
  model::Tid producer_ = 0;
  std::vector<model::Hop> waited_;  // the chain before the producer
  std::vector<model::Leaf> path_;   // as walked, the last one first
  State state_ = State::kInPeriod;
  model::TimeNs back_to_ = 0;  // what was looked at begins here
  model::TimeNs begin_ = 0;    // of the period, once that is known
  model::Confidence gap_;
  std::optional<model::Leaf> pending_;  // a piece whose begin may not have been seen yet
  bool goes_on_ = false;
  bool settled_ = false, by_lineage_ = false;
  std::vector<model::Leaf> lineage_;
  Period period_;
  Usual usual_;
};

}  // namespace whystall::lineage
