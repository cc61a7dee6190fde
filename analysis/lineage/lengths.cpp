// SPDX-License-Identifier: Apache-2.0
#include "lineage/lengths.h"

#include <algorithm>
#include <cmath>

namespace whystall::lineage {

using model::DurationNs;

namespace {
/// No host has seen so much time; sums of it do not overflow.
constexpr DurationNs kMostNs = DurationNs{1} << 61;

int step_of(DurationNs length) {
  return static_cast<int>(4 * std::log2(static_cast<double>(length)));
}
}  // namespace

void Lengths::add(DurationNs length) {
  if (ns_ > kMostNs - length) return;
  Step& step = steps_[step_of(length)];
  step.pieces++;
  step.ns += length;
  ns_ += length;
}

void Lengths::add(const Lengths& others) {
  if (ns_ > kMostNs - others.ns_) return;
  for (const auto& [number, step] : others.steps_) {
    steps_[number].pieces += step.pieces;
    steps_[number].ns += step.ns;
  }
  ns_ += others.ns_;
}

Lengths Lengths::without(DurationNs length) const {
  Lengths rest = *this;
  const auto found = rest.steps_.find(step_of(length));
  if (found == rest.steps_.end()) return rest;
  Step& step = found->second;
  const DurationNs ns = step.pieces == 1 ? step.ns : std::min(length, step.ns - 1);
  rest.ns_ -= ns;
  step.ns -= ns;
  if (--step.pieces == 0) rest.steps_.erase(found);
  return rest;
}

DurationNs Lengths::median_by_time() const {
  DurationNs until = 0;
  for (const auto& [number, step] : steps_) {
    until += step.ns;
    if (until >= ns_ - until) return step.ns / static_cast<DurationNs>(step.pieces);
  }
  return 0;
}

DurationNs Lengths::beyond(DurationNs length) const {
  DurationNs sum = 0;
  for (const auto& [number, step] : steps_) {
    const auto pieces = static_cast<DurationNs>(step.pieces);
    if (step.ns / pieces > length) sum += step.ns - pieces * length;
  }
  return sum;
}

}  // namespace whystall::lineage
