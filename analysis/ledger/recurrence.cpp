// SPDX-License-Identifier: Apache-2.0
#include "ledger/recurrence.h"

#include <algorithm>
#include <optional>

namespace whystall::ledger {

using model::DurationNs;
using model::Recurrence;

namespace {

/// 96 KiB a finding at most; half of it is kept when it is full.
constexpr std::size_t kMostKept = 4096;
/// Of fewer gaps there is no rule to be told, whatever the finding's.
constexpr std::uint64_t kFewGaps = 5;
constexpr std::size_t kFewSteps = 4;

/// The middle one of the steps, if they are regular.
std::optional<std::uint64_t> regular(const std::vector<std::uint64_t>& steps) {
  if (steps.size() < kFewSteps) return std::nullopt;
  std::vector<std::uint64_t> sorted = steps;
  std::sort(sorted.begin(), sorted.end());
  const std::uint64_t middle = sorted[sorted.size() / 2];
  const auto alike = std::count_if(steps.begin(), steps.end(), [&](std::uint64_t step) {
    const std::uint64_t off = step > middle ? step - middle : middle - step;
    return off <= middle / 5;
  });
  if (static_cast<std::size_t>(alike) * 5 < steps.size() * 4) return std::nullopt;
  return middle;
}

}  // namespace

void Occurrences::add(model::TimeNs at, DurationNs ns, model::Pid pid, std::uint64_t number) {
  several_ |= all_ns_ > 0 && pid != pid_;
  pid_ = pid;
  all_ns_ += ns;
  if (kept_.size() == kMostKept) {
    std::nth_element(kept_.begin(), kept_.begin() + kMostKept / 2, kept_.end(),
                     [](const Occurrence& a, const Occurrence& b) { return a.ns > b.ns; });
    kept_.resize(kMostKept / 2);
  }
  kept_.push_back({at, ns, number});
}

std::vector<Occurrences::Occurrence> Occurrences::main_ones() const {
  DurationNs longest = 0, sum = 0;
  for (const Occurrence& one : kept_) longest = std::max(longest, one.ns);
  std::vector<Occurrence> main;
  for (const Occurrence& one : kept_) {
    if (one.ns < longest / 10) continue;
    main.push_back(one);
    sum += one.ns;
  }
  if (sum / 4 < all_ns_ / 5) return {};
  std::sort(main.begin(), main.end(),
            [](const Occurrence& a, const Occurrence& b) { return a.at < b.at; });
  return main;
}

Recurrence Occurrences::recurrence(model::Interval window, std::uint64_t all_gaps) const {
  Recurrence found;
  const auto main = main_ones();
  if (main.empty() || all_gaps < kFewGaps) return found;
  found.occurrences = main.size();
  found.first_ns = main.front().at;
  found.last_ns = main.back().at;
  const bool many_others = all_gaps - std::min<std::uint64_t>(all_gaps, main.size()) >= kFewGaps;
  if (many_others && found.last_ns - window.lo <= window.length() / 10) {
    found.kind = Recurrence::Kind::kAtStart;
    return found;
  }
  if (main.size() == 1) {
    found.kind = Recurrence::Kind::kOnce;
    return found;
  }
  if (!several_ && main.size() * 10 >= all_gaps * 9) {
    found.kind = Recurrence::Kind::kEachGap;
    return found;
  }
  std::vector<std::uint64_t> in_time, in_gaps;
  for (std::size_t i = 1; i < main.size(); i++) {
    in_time.push_back(static_cast<std::uint64_t>(main[i].at - main[i - 1].at));
    const auto a = main[i].number, b = main[i - 1].number;
    in_gaps.push_back(a > b ? a - b : b - a);
  }
  if (const auto step = regular(in_time)) found.ns = static_cast<DurationNs>(*step);
  const auto gaps = several_ ? std::nullopt : regular(in_gaps);
  if (gaps && *gaps > 1) found.gaps = *gaps;
  if (found.ns > 0 || found.gaps > 0) found.kind = Recurrence::Kind::kEvery;
  return found;
}

}  // namespace whystall::ledger
