// SPDX-License-Identifier: Apache-2.0
#include "lineage/period.h"

#include <algorithm>
#include <iterator>

namespace whystall::lineage {

using model::DurationNs;
using model::Interval;
using model::Leaf;
using model::TimeNs;

namespace {

/// Objects that one period tells apart.
constexpr std::size_t kMostObjects = 64;

}  // namespace

Period::Spent& Period::of(const Leaf& piece) {
  Spent* same_cause = nullptr;
  for (Spent& spent : spent_) {
    if (spent.longest.cause != piece.cause) continue;
    if (spent.longest.object == piece.object) return spent;
    same_cause = &spent;
  }
  if (same_cause && spent_.size() >= kMostObjects) return *same_cause;
  spent_.push_back({piece, 0, {}});
  return spent_.back();
}

void Period::add(const Leaf& piece) {
  Spent& spent = of(piece);
  if (piece.at.length() > spent.longest.at.length()) spent.longest = piece;
  spent.ns += piece.at.length();
  spent.lengths.add(piece.at.length());
  ns_ += piece.at.length();
}

DurationNs Period::spent_on(model::Cause cause) const {
  DurationNs sum = 0;
  for (const Spent& spent : spent_) {
    if (spent.longest.cause == cause) sum += spent.ns;
  }
  return sum;
}

DurationNs Excess::sum() const {
  DurationNs sum = 0;
  for (const Part& part : parts) sum += part.ns;
  return sum;
}

/// One piece may be so long that half of all time is its own, so it is not asked whether it is
/// usual itself.
Excess Period::excess(const Usual& usual) const {
  std::map<model::Cause, DurationNs> longest;
  for (const Spent& spent : spent_) {
    DurationNs& length = longest[spent.longest.cause];
    length = std::max(length, spent.longest.at.length());
  }
  std::map<model::Cause, DurationNs> medians;
  for (const auto& [cause, length] : longest) {
    const auto all = usual.find(cause);
    if (all != usual.end()) medians[cause] = all->second.median_by_time(length);
  }
  Excess excess;
  for (const Spent& spent : spent_) {
    const DurationNs median = medians[spent.longest.cause];
    const DurationNs ns = median > 0 ? spent.lengths.beyond(median + median / 2) : 0;
    if (ns > 0) excess.parts.push_back({spent.longest, ns});
  }
  return excess;
}

std::vector<Leaf> Period::spread(Interval late, const Usual& usual, Excess& left) const {
  Excess all = excess(usual);
  std::move(left.parts.begin(), left.parts.end(), std::back_inserter(all.parts));
  const DurationNs whole = all.sum(), first = std::min(late.length(), whole);

  std::vector<Leaf> leaves;
  TimeNs begin = late.lo;
  const auto take = [&](const Leaf& longest, TimeNs end) {
    end = std::clamp(end, begin, late.hi);
    if (end == begin) return;
    leaves.push_back(longest);
    leaves.back().at = {begin, end};
    begin = end;
  };
  // By running sums, so that rounding loses nothing.
  DurationNs before = 0;
  for (const Excess::Part& part : all.parts) {
    before += part.ns;
    take(part.longest, late.lo + model::scaled(first, before, whole));
  }
  before = 0;
  for (const Spent& spent : spent_) {
    before += spent.ns;
    take(spent.longest, late.lo + first + model::scaled(late.length() - first, before, ns_));
  }
  if (begin < late.hi) leaves.back().at.hi = late.hi;

  left.parts.clear();
  for (Excess::Part& part : all.parts) {
    part.ns = model::scaled(part.ns, whole - first, whole);
    if (part.ns > 0 && left.parts.size() < kMostObjects) left.parts.push_back(std::move(part));
  }
  return leaves;
}

}  // namespace whystall::lineage
