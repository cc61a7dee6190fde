// SPDX-License-Identifier: Apache-2.0
#include "lineage/lineage.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace whystall::lineage {

using model::Cause;
using model::Interval;
using model::Leaf;
using model::Pid;
using model::Tid;
using model::TimeNs;

namespace {

/// Leaves and pieces of gaps that are not taken, some 250 bytes each. Then the first ones are
/// answered by what is usual so far.
constexpr std::size_t kMostHeld = 100'000;

using Part = std::variant<Leaf, std::shared_ptr<Late>>;

}  // namespace

struct Lineage::Held {
  std::size_t gap = 0;
  Pid launcher = 0;
  Interval whole;
  bool complete = false;
  std::vector<Part> parts;  // the last one first

  Late* last_late() const {
    const auto* late = parts.empty() ? nullptr : std::get_if<std::shared_ptr<Late>>(&parts.back());
    return late ? late->get() : nullptr;
  }
};

Lineage::Lineage() = default;
Lineage::~Lineage() = default;

void Lineage::add(const walk::Walks& walks, const Gap& gap, const std::vector<Leaf>& part) {
  const auto [known, fresh] = open_.try_emplace(gap.number);
  if (fresh) {
    gaps_.push_back(std::make_unique<Held>(Held{gap.number, gap.launcher, gap.at, false, {}}));
    known->second = gaps_.back().get();
  }
  Held& held = *known->second;
  for (auto leaf = part.rbegin(); leaf != part.rend(); ++leaf) {
    held_++;
    const Delivery delivery =
        leaf->cause == Cause::kWaitIdle ? Delivery{} : last_delivery(walks.timeline, *leaf);
    if (delivery.by == 0) {
      held.parts.emplace_back(*leaf);
      continue;
    }
    Late* late = held.last_late();
    if (!late || !late->goes_on_with(*leaf, delivery)) {
      late_.push_back(std::make_shared<Late>(*leaf, delivery, gap.confidence));
      held.parts.emplace_back(late_.back());
      late = late_.back().get();
      deliveries_[late->producer()].push_back(late->delivered());
    }
    late->add(walks, *leaf);
  }
  if (!part.empty() && part.front().at.lo > gap.at.lo) return;
  held.complete = true;
  open_.erase(known);
}

/// A delivery that was waited for before took with it what made it late.
void Lineage::go_back(const walk::Walks& walks, Interval slab) {
  for (auto& [tid, times] : deliveries_) std::sort(times.begin(), times.end());
  std::erase_if(late_, [&](const std::shared_ptr<Late>& late) {
    TimeNs last = slab.lo;
    bool delivered = false;
    if (const auto times = deliveries_.find(late->producer()); times != deliveries_.end()) {
      const auto next =
          std::lower_bound(times->second.begin(), times->second.end(), late->delivered());
      delivered = next != times->second.begin();
      if (delivered) last = std::max(last, *std::prev(next));
    }
    late->go_back(walks, last);
    if (delivered) late->end_at_delivery();
    if (!late->ended()) return false;
    late->add_usual(usual_);
    held_ += late->pieces();
    return true;
  });
  deliveries_.clear();
}

void Lineage::finish() {
  for (const auto& late : late_) {
    late->end();
    late->add_usual(usual_);
    held_ += late->pieces();
  }
  late_.clear();
  finished_ = true;
  std::unordered_map<Tid, std::vector<Late*>> by_producer;
  for (const auto& held : gaps_) {
    for (const Part& part : held->parts) {
      if (const auto* late = std::get_if<std::shared_ptr<Late>>(&part))
        by_producer[(*late)->producer()].push_back(late->get());
    }
  }
  for (auto& [tid, all] : by_producer) {
    std::stable_sort(all.begin(), all.end(),
                     [](const Late* a, const Late* b) { return a->delivered() < b->delivered(); });
    Excess left;
    for (Late* late : all) late->settle(usual_, left);
  }
}

bool Lineage::take(Answer& answer) {
  if (gaps_.empty() || !gaps_.front()->complete) return false;
  const Held& held = *gaps_.front();
  bool any_late = false;
  for (const Part& part : held.parts) {
    const auto* late = std::get_if<std::shared_ptr<Late>>(&part);
    if (late && !(*late)->ended()) return false;
    any_late |= late != nullptr;
  }
  if (any_late && !finished_ && held_ <= kMostHeld) return false;
  answer = {held.gap, held.launcher, held.whole, {}};
  for (const Part& part : held.parts) {
    if (const auto* leaf = std::get_if<Leaf>(&part)) {
      answer.leaves.push_back(*leaf);
      held_--;
      continue;
    }
    Late& late = *std::get<std::shared_ptr<Late>>(part);
    held_ -= late.walked() + late.pieces();
    Excess left;
    if (!late.settled()) late.settle(usual_, left);
    if (late.by_lineage()) relabelled_ += late.at().length();
    answer.leaves.insert(answer.leaves.end(), late.leaves().begin(), late.leaves().end());
  }
  gaps_.pop_front();
  return true;
}

}  // namespace whystall::lineage
