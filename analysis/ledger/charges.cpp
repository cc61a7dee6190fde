// SPDX-License-Identifier: Apache-2.0
#include "ledger/charges.h"

#include <algorithm>
#include <utility>

namespace whystall::ledger {

namespace {

using model::Confidence;
using model::Hop;
using model::Interval;
using model::Leaf;
using model::TimeNs;

bool same_hop(const Hop& a, const Hop& b) {
  return a.tid == b.tid && a.nr == b.nr && a.file_kind == b.file_kind && a.lock == b.lock;
}

/// `earlier` ends where `later` begins and says the same.
bool is_one(const Leaf& earlier, const Leaf& later) {
  return earlier.at.hi == later.at.lo && earlier.cause == later.cause &&
         earlier.confidence == later.confidence && earlier.object == later.object &&
         earlier.lineage == later.lineage &&
         std::equal(earlier.chain.begin(), earlier.chain.end(), later.chain.begin(),
                    later.chain.end(), same_hop);
}

void lower(Confidence& confidence) {
  if (confidence < Confidence::kEstimated)
    confidence = static_cast<Confidence>(static_cast<int>(confidence) + 1);
}

}  // namespace

evidence::Intervals lost_states(const std::vector<wst_loss>& losses) {
  evidence::Intervals lost;
  for (const wst_loss& loss : losses) {
    // Of a task without storage (WST_LOST_STORAGE) nothing is recorded at all, so a walk that comes
    // to it says so; what is known of others is whole. Tasks outside of the tracer's process
    // namespace are such.
    if (loss.loss_class != WST_LOST_WAIT && loss.loss_class != WST_LOST_SLICE) continue;
    lost.push_back({static_cast<TimeNs>(loss.first_ns), static_cast<TimeNs>(loss.last_ns) + 1});
  }
  return evidence::united(std::move(lost));
}

void Charges::add(std::vector<Leaf> leaves, std::size_t gap, model::Pid launcher) {
  for (auto leaf = leaves.rbegin(); leaf != leaves.rend(); ++leaf)
    take(std::move(*leaf), gap, launcher);
}

void Charges::take(Leaf leaf, std::size_t gap, model::Pid launcher) {
  const auto pending = std::find_if(pending_.begin(), pending_.end(),
                                    [&](const Pending& p) { return p.gap == gap; });
  if (pending == pending_.end()) {
    pending_.push_back({gap, launcher, std::move(leaf)});
    return;
  }
  if (!is_one(leaf, pending->leaf)) {
    charge(*pending);
    pending->leaf = std::move(leaf);
    return;
  }
  pending->leaf.at.lo = leaf.at.lo;
  for (std::size_t i = 0; i < leaf.chain.size(); i++)
    pending->leaf.chain[i].at.lo = std::min(pending->leaf.chain[i].at.lo, leaf.chain[i].at.lo);
}

void Charges::close(std::size_t gap, model::Interval at, model::Pid launcher) {
  const auto pending = std::find_if(pending_.begin(), pending_.end(),
                                    [&](const Pending& p) { return p.gap == gap; });
  if (pending == pending_.end()) return;
  charge(*pending);
  pending_.erase(pending);
  accounts_.close(gap, at, launcher);
}

void Charges::charge(Pending& pending) {
  Leaf& leaf = pending.leaf;
  charged_ += leaf.at.length();
  if (leaf.cause == model::Cause::kWaitIdle) no_demand_ += leaf.at.length();
  // Where records of threads' states were lost, what the walk found is one step less sure.
  const auto lost = std::upper_bound(lost_.begin(), lost_.end(), leaf.at.lo,
                                     [](TimeNs t, const Interval& i) { return t < i.hi; });
  if (lost != lost_.end() && lost->lo < leaf.at.hi) {
    lower(leaf.confidence);
    where_lost_ += leaf.at.length();
  }
  accounts_.charge(leaf, pending.gap, pending.launcher);
}

}  // namespace whystall::ledger
