// SPDX-License-Identifier: Apache-2.0
#include "lineage/lengths.h"

#include <algorithm>
#include <cmath>

namespace whystall::lineage {

using model::DurationNs;

namespace {
/// No host has seen so much time; sums of it do not overflow.
constexpr DurationNs kMostNs = DurationNs{1} << 61;

constexpr int kNoStep = -1;

int step_of(DurationNs length) {
  return static_cast<int>(4 * std::log2(static_cast<double>(length)));
}
}  // namespace

void Lengths::add(DurationNs length) {
  if (ns_ <= kMostNs - length) add({step_of(length), 1, length});
}

void Lengths::add(const Lengths& others) {
  if (ns_ > kMostNs - others.ns_) return;
  for (const Step& step : others.steps_) add(step);
}

void Lengths::add(const Step& step) {
  const auto place =
      std::lower_bound(steps_.begin(), steps_.end(), step,
                       [](const Step& a, const Step& b) { return a.number < b.number; });
  if (place == steps_.end() || place->number != step.number) {
    steps_.insert(place, step);
  } else {
    place->pieces += step.pieces;
    place->ns += step.ns;
  }
  ns_ += step.ns;
}

DurationNs Lengths::median_by_time(DurationNs but_for) const {
  const int its_step = but_for > 0 ? step_of(but_for) : kNoStep;
  const auto rest_of = [&](Step step) {
    if (step.number != its_step) return step;
    step.ns -= step.pieces == 1 ? step.ns : std::min(but_for, step.ns - 1);
    step.pieces--;
    return step;
  };
  DurationNs all = 0, until = 0;
  for (const Step& step : steps_) all += rest_of(step).ns;
  for (const Step& whole : steps_) {
    const Step step = rest_of(whole);
    until += step.ns;
    if (step.pieces > 0 && until >= all - until)
      return step.ns / static_cast<DurationNs>(step.pieces);
  }
  return 0;
}

DurationNs Lengths::beyond(DurationNs length) const {
  DurationNs sum = 0;
  for (const Step& step : steps_) {
    const auto pieces = static_cast<DurationNs>(step.pieces);
    if (step.ns / pieces > length) sum += step.ns - pieces * length;
  }
  return sum;
}

}  // namespace whystall::lineage
