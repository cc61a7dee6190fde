// SPDX-License-Identifier: Apache-2.0
#include "ledger/account.h"

#include <algorithm>

namespace whystall::ledger {

using model::DurationNs;

void Account::Longest::see(const model::Leaf& leaf) {
  const bool longer =
      leaf.at.length() > at.length() || (leaf.at.length() == at.length() && leaf.at.lo < at.lo);
  if (!longer) return;
  at = leaf.at;
  lineage = leaf.lineage;
  chain = leaf.chain;
}

bool Account::add(const model::Leaf& leaf, const model::Object& object, std::size_t gap) {
  const DurationNs ns = leaf.at.length();
  sums_.cause = leaf.cause;
  sums_.ns += ns;
  if (leaf.lineage) sums_.lineage_ns += ns;
  sums_.by_confidence[static_cast<std::size_t>(leaf.confidence)] += ns;
  sums_.pieces++;
  objects_[object] += ns;
  longest_.see(leaf);
  auto open =
      std::find_if(open_.rbegin(), open_.rend(), [&](const auto& one) { return one.first == gap; });
  const bool first = open == open_.rend();
  if (first) {
    open_.emplace_back(gap, InGap{});
    open = open_.rbegin();
  }
  InGap& in = open->second;
  in.ns += ns;
  in.pieces++;
  in.longest.see(leaf);
  return first;
}

void Account::close(std::size_t gap, model::Interval at, model::Pid pid, std::uint64_t number) {
  const auto open =
      std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one.first == gap; });
  if (open == open_.end()) return;
  InGap in = std::move(open->second);
  open_.erase(open);
  sums_.gaps++;
  occurrences_.add(at.lo, in.ns, pid, number);
  in.gap = at;
  in.pid = pid;
  const auto place = std::find_if(most_.begin(), most_.end(), [&](const InGap& other) {
    return in.ns > other.ns || (in.ns == other.ns && at.lo < other.gap.lo);
  });
  if (place == most_.end() && most_.size() == model::kMostEvidence) return;
  most_.insert(place, std::move(in));
  if (most_.size() > model::kMostEvidence) most_.pop_back();
}

model::Finding Account::finding(const Names& names) const {
  model::Finding f = sums_;
  f.path = names.chain(longest_.chain);
  const auto most = std::max_element(f.by_confidence.begin(), f.by_confidence.end());
  f.confidence = static_cast<model::Confidence>(most - f.by_confidence.begin());
  for (const auto& [id, ns] : objects_) {
    f.objects.push_back(names.object(f.cause, id));
    f.objects.back().ns = ns;
  }
  std::stable_sort(f.objects.begin(), f.objects.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  for (const auto& [name, samples] : code_) f.code.push_back({name, samples});
  std::stable_sort(f.code.begin(), f.code.end(),
                   [](const auto& a, const auto& b) { return a.samples > b.samples; });
  for (const InGap& in : most_)
    f.evidence.push_back({in.gap, in.pid, in.ns, in.pieces, in.longest.at, in.longest.lineage,
                          names.hops(in.longest.chain)});
  return f;
}

}  // namespace whystall::ledger
