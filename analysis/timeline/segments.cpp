// SPDX-License-Identifier: Apache-2.0
#include "timeline/segments.h"

#include <limits>

#include "timeline/pieces.h"
#include "timeline/stays.h"
#include "timeline/sums.h"

namespace whystall::timeline {

using model::Sums;
using model::TimeNs;

namespace {

/// How many waits a segment has, about. Few: a walk asks for one or two waits of a thread, then
/// goes on to another one.
constexpr std::size_t kBlock = 4;
constexpr std::uint32_t kNotKnown = ~std::uint32_t{0};

TimeNs begin_of(const Sums* sums) {
  return time(sums->head.from_ns);
}

}  // namespace

Segments::Segments(std::span<const Timed<wst_wait>> waits, std::span<const Timed<Sums>> sums,
                   const NextOfThread* later)
    : waits_(waits), sums_(sums), later_(later) {
  const auto begins_earlier = [](const Timed<Sums>& a, const Timed<Sums>& b) {
    return begin_of(a.record) < begin_of(b.record);
  };
  sums_rise_ = std::is_sorted(sums.begin(), sums.end(), begins_earlier);
  boundaries_.assign(waits.size() / kBlock + 1, kNotKnown);
  segments_.resize(boundaries_.size());
}

/// Whether a segment may begin with the wait, going back in time.
bool Segments::begins_at(std::size_t wait) const {
  if (wait == 0 || !sums_rise_) return wait == 0;
  if (!Stays::stands_alone(*waits_[wait].record) ||
      (waits_[wait - 1].record->flags & WST_WAIT_OPEN))
    return false;
  const TimeNs t = waits_[wait].at;
  if (later_ && later_->sums && begin_of(&*later_->sums) < t) return false;
  const auto next = std::partition_point(sums_.begin(), sums_.end(),
                                         [&](const Timed<Sums>& sums) { return sums.at <= t; });
  return next == sums_.end() || begin_of(next->record) >= t;
}

std::size_t Segments::boundary(std::size_t block) {
  if (block >= boundaries_.size()) return waits_.size();
  std::uint32_t& known = boundaries_[block];
  if (known != kNotKnown) return known;
  std::size_t wait = block * kBlock;
  while (wait < waits_.size() && !begins_at(wait)) wait++;
  // The blocks that it lies beyond have the same one.
  const std::size_t last = std::min(wait / kBlock, boundaries_.size() - 1);
  for (std::size_t same = block; same <= last; same++)
    boundaries_[same] = static_cast<std::uint32_t>(wait);
  return wait;
}

Segments::Segment& Segments::of_wait(std::size_t wait) {
  std::size_t block = wait / kBlock;
  while (block > 0 && boundary(block) > wait) block--;
  const std::size_t first = block == 0 ? 0 : boundary(block);
  Segment& segment = segments_[first / kBlock];
  if (segment.known) return segment;
  segment.known = true;
  std::size_t next = first / kBlock + 1;
  while (next < boundaries_.size() && boundary(next) <= first) next++;
  segment.first = first;
  segment.end = boundary(next);
  segment.hi = first == 0 ? std::numeric_limits<TimeNs>::max() : waits_[first].at;
  segment.lo =
      segment.end == waits_.size() ? std::numeric_limits<TimeNs>::min() : waits_[segment.end].at;
  return segment;
}

Segments::Segment& Segments::around(TimeNs t) {
  const auto until = std::partition_point(
      waits_.begin(), waits_.end(), [&](const Timed<wst_wait>& wait) { return wait.at >= t; });
  const auto count = static_cast<std::size_t>(until - waits_.begin());
  return of_wait(count == 0 ? 0 : count - 1);
}

Segments::Segment* Segments::after(const Segment& segment) {
  return segment.first == 0 ? nullptr : &of_wait(segment.first - 1);
}

Segments::Segment* Segments::before(const Segment& segment) {
  return segment.end == waits_.size() ? nullptr : &of_wait(segment.end);
}

/// With what is known from later slabs. A snapshot that a later record repeats is left out.
std::vector<const Sums*> Segments::sums_in(const Segment& segment) const {
  std::vector<const Sums*> kept;
  const auto add = [&](const Sums* one) {
    const bool repeats = !kept.empty() && begin_of(kept.back()) == begin_of(one);
    if (repeats)
      kept.back() = one;
    else
      kept.push_back(one);
  };
  auto one = std::partition_point(sums_.begin(), sums_.end(),
                                  [&](const Timed<Sums>& sums) { return sums.at <= segment.lo; });
  for (; one != sums_.end() && one->at <= segment.hi; ++one) add(one->record);
  if (segment.first == 0 && later_ && later_->sums) add(&*later_->sums);
  return kept;
}

const std::vector<Piece>& Segments::made(Segment& segment, Store& store) const {
  if (segment.made) return segment.pieces;
  segment.made = true;
  const std::size_t last = std::min(segment.end + 1, waits_.size());
  const std::size_t first = segment.first == 0 ? 0 : segment.first - 1;
  Stays stays(segment.first == 0 ? later_ : nullptr, &store.room);
  for (std::size_t i = first; i < last; i++) stays.add(*waits_[i].record);
  auto& pieces = segment.pieces = stays.take();
  // Of its neighbours.
  while (!pieces.empty() && pieces.back().at.lo >= segment.hi) pieces.pop_back();
  const auto before = std::partition_point(pieces.begin(), pieces.end(),
                                           [&](const Piece& p) { return p.at.hi <= segment.lo; });
  pieces.erase(pieces.begin(), before);
  const auto sums = sums_in(segment);
  if (!sums.empty()) {
    pieces_of_sums(sums, store.waits, store.mixes, store.room);
    pieces = overlay(pieces, store.room);
  }
  return pieces;
}

const Piece* Segments::before(TimeNs t, Store& store) {
  const auto& pieces = made(around(t), store);
  const auto it = std::partition_point(pieces.begin(), pieces.end(),
                                       [&](const Piece& p) { return p.at.hi < t; });
  return it == pieces.end() || it->at.lo >= t ? nullptr : &*it;
}

TimeNs Segments::covered_until(TimeNs t, Store& store) {
  for (Segment* segment = &around(t); segment; segment = before(*segment)) {
    const auto& pieces = made(*segment, store);
    const auto it = std::partition_point(pieces.begin(), pieces.end(),
                                         [&](const Piece& p) { return p.at.hi <= t; });
    if (it != pieces.begin()) return std::prev(it)->at.hi;
  }
  return 0;
}

}  // namespace whystall::timeline
