// SPDX-License-Identifier: Apache-2.0
#include "lineage/late.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace whystall::lineage {

using model::Cause;
using model::Confidence;
using model::DurationNs;
using model::Hop;
using model::Interval;
using model::Leaf;
using model::Reason;
using model::TimeNs;

namespace {

/// No period is looked at for longer.
constexpr DurationNs kMostBack = 10'000'000'000;
/// What is usual is learned from so many times the period, but not from more than this.
constexpr int kUsualPeriods = 4;
constexpr DurationNs kMostUsual = 2'000'000'000;
/// At first so much is walked at once, then twice as much each time.
constexpr DurationNs kFirstStep = 1'000'000;
/// One in so many parts of the period must lie before the wait; else the walk has nearly all of it.
constexpr int kAheadShare = 4;
/// So many times the rest of the period.
constexpr int kNearlyAll = 9;

bool is_one_piece(const Leaf& earlier, const Leaf& later) {
  const auto same = [](const Hop& a, const Hop& b) { return a.tid == b.tid && a.nr == b.nr; };
  return earlier.at.hi == later.at.lo && earlier.cause == later.cause &&
         earlier.object == later.object &&
         std::equal(earlier.chain.begin(), earlier.chain.end(), later.chain.begin(),
                    later.chain.end(), same);
}

}  // namespace

Late::Late(const Leaf& leaf, Delivery delivery, Confidence gap)
    : at_{leaf.at.hi, leaf.at.hi},
      delivery_(delivery),
      producer_(leaf.chain[delivery.by].tid),
      waited_(leaf.chain.begin(), leaf.chain.begin() + static_cast<std::ptrdiff_t>(delivery.by)),
      back_to_(leaf.at.hi),
      gap_(gap) {}

bool Late::goes_on_with(const Leaf& leaf, Delivery delivery) const {
  const auto same = [](const Hop& a, const Hop& b) { return a.tid == b.tid; };
  return leaf.at.hi == at_.lo && back_to_ == at_.lo && delivery.at == delivery_.at &&
         delivery.by == delivery_.by && leaf.chain[delivery.by].tid == producer_ &&
         std::equal(waited_.begin(), waited_.end(), leaf.chain.begin(), same);
}

void Late::add(const walk::Walks& walks, const Leaf& leaf) {
  path_.push_back(leaf);
  at_.lo = leaf.at.lo;
  if (state_ != State::kEnded) see(walks, leaf);
  back_to_ = leaf.at.lo;
}

void Late::go_back(const walk::Walks& walks, TimeNs lo) {
  lo = std::max<TimeNs>(lo, 0);  // the clock begins there
  DurationNs step = std::max(at_.length(), kFirstStep);
  while (state_ != State::kEnded && back_to_ > lo) {
    if (back_to_ <= enough()) return end();
    const Interval part{std::max({lo, enough(), back_to_ - std::min(step, kMostBack)}), back_to_};
    const auto leaves = walks.past(producer_, part, waited_);
    for (auto leaf = leaves.rbegin(); leaf != leaves.rend() && state_ != State::kEnded; ++leaf) {
      see(walks, *leaf);
      back_to_ = leaf->at.lo;
    }
    step = std::min(step, kMostBack) * 2;
  }
}

/// What is before does not matter. It is known once the period's begin is.
TimeNs Late::enough() const {
  if (state_ == State::kInPeriod) return std::numeric_limits<TimeNs>::min();
  return begin_ - std::min(kUsualPeriods * (at_.hi - begin_), kMostUsual);
}

/// Leaves come against the time, cut anywhere.
void Late::see(const walk::Walks& walks, Leaf leaf) {
  const bool waits = waits_for_work(walks, leaf);
  if (state_ == State::kInPeriod) {
    if (waits || leaf.at.hi <= at_.hi - kMostBack)
      leave_period(leaf.at.hi);
    else
      leaf.at.lo = std::max(leaf.at.lo, at_.hi - kMostBack);
  }
  if (state_ == State::kBefore) {
    if (leaf.at.hi <= enough()) return end();
    leaf.at.lo = std::max(leaf.at.lo, enough());
  }
  if (waits) {
    // What was waited for belongs to others.
    take_pending();
    if (leaf.object.reason == Reason::kNoRecord) end();
    return;
  }
  if (!pending_ || !is_one_piece(leaf, *pending_)) {
    take_pending();
    pending_ = std::move(leaf);
    return;
  }
  pending_->at.lo = leaf.at.lo;
  pending_->confidence = worse(pending_->confidence, leaf.confidence);
  for (std::size_t i = waited_.size(); i < leaf.chain.size(); i++)
    pending_->chain[i].at.lo = std::min(pending_->chain[i].at.lo, leaf.chain[i].at.lo);
}

/// For those that wait for it, for its own source, or because there is nothing to do; or it was not
/// there.
bool Late::waits_for_work(const walk::Walks& walks, const Leaf& leaf) const {
  if (leaf.cause == Cause::kWaitIdle) return true;
  if (leaf.cause == Cause::kUnknown) {
    if (leaf.object.reason == Reason::kMutualWait) return true;
    return leaf.object.reason == Reason::kNoRecord && leaf.chain.size() == waited_.size() + 1;
  }
  return last_delivery(walks.timeline, leaf, waited_.size()).by != 0;
}

void Late::leave_period(TimeNs begin) {
  take_pending();
  begin_ = begin;
  state_ = State::kBefore;
}

void Late::take_pending() {
  if (!pending_) return;
  if (state_ == State::kInPeriod) period_.add(*pending_);
  usual_[pending_->cause].add(pending_->at.length());
  pending_.reset();
}

void Late::end() {
  if (state_ == State::kInPeriod) leave_period(back_to_);
  take_pending();
  state_ = State::kEnded;
}

void Late::add_usual(Usual& usual) const {
  for (const auto& [cause, lengths] : usual_) usual[cause].add(lengths);
}

/// How the lateness is divided is estimated. That a cause has most of it is likely where it has
/// nearly all of the period, or the greater part both of it and of the wait itself.
Confidence Late::sureness(Cause cause) const {
  DurationNs in_wait = 0;
  for (const Leaf& leaf : path_) {
    if (leaf.cause == cause) in_wait += leaf.at.length();
  }
  const DurationNs spent = period_.spent_on(cause), rest = period_.length() - spent;
  const bool nearly_all = spent / kNearlyAll >= rest;
  const bool most = spent > rest && in_wait > at_.length() - in_wait;
  return nearly_all || most ? Confidence::kLikely : Confidence::kEstimated;
}

void Late::settle(const Usual& usual, Excess& left) {
  settled_ = true;
  const DurationNs ahead = at_.lo - begin_;
  if (!goes_on_) left = {};
  if (ahead <= 0 || ahead < period_.length() / kAheadShare) {
    left = {};
    return;
  }
  by_lineage_ = true;
  lineage_ = period_.spread(at_, usual, left);
  for (Leaf& leaf : lineage_) {
    leaf.confidence = worse(worse(leaf.confidence, gap_), sureness(leaf.cause));
    leaf.lineage = true;
  }
  std::reverse(lineage_.begin(), lineage_.end());
}

}  // namespace whystall::lineage
