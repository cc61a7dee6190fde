// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "timeline/grouped.h"
#include "timeline/later.h"
#include "timeline/piece.h"

namespace whystall::timeline {

/// What the pieces of all threads refer to, and room to make them in.
struct Store {
  std::deque<wst_wait> waits;  // of sums
  std::deque<Mix> mixes;
  std::vector<Piece> room;
};

/// The pieces of one thread, made a segment at a time when it is asked for.
///
/// A segment begins with the end of a wait that stands alone (Stays::stands_alone) and that no sums
/// span: what is before that depends on nothing after it, and no piece lies on both sides. So all
/// segments together are what all records at once would give. Where there is no such wait, a
/// segment is as long as it must be.
class Segments {
 public:
  /// The waits, the last to end first, and the sums, by time; all of it must outlive the pieces.
  Segments(std::span<const Timed<wst_wait>> waits, std::span<const Timed<model::Sums>> sums,
           const NextOfThread* later);

  /// See Timeline.
  const Piece* before(model::TimeNs t, Store& store);
  model::TimeNs covered_until(model::TimeNs t, Store& store);
  template <typename Visit>
  void each(model::Interval at, Store& store, Visit visit) {
    for (Segment* segment = &around(at.lo); segment; segment = after(*segment)) {
      const auto& pieces = made(*segment, store);
      auto piece = std::partition_point(pieces.begin(), pieces.end(),
                                        [&](const Piece& p) { return p.at.hi <= at.lo; });
      for (; piece != pieces.end(); ++piece) {
        if (piece->at.lo >= at.hi) return;
        visit(*piece);
      }
      if (segment->hi >= at.hi) return;
    }
  }

 private:
  /// Waits from `first` up to `end`, the last to end first, and the time between them.
  struct Segment {
    std::size_t first = 0, end = 0;
    model::TimeNs lo = 0, hi = 0;
    bool known = false, made = false;
    std::vector<Piece> pieces;
  };

  /// The one that holds the instant just before `t`.
  Segment& around(model::TimeNs t);
  Segment* after(const Segment& segment);
  Segment* before(const Segment& segment);
  const std::vector<Piece>& made(Segment& segment, Store& store) const;
  std::vector<const model::Sums*> sums_in(const Segment& segment) const;
  bool begins_at(std::size_t wait) const;
  std::size_t boundary(std::size_t block);
  Segment& of_wait(std::size_t wait);

  std::span<const Timed<wst_wait>> waits_;
  std::span<const Timed<model::Sums>> sums_;
  const NextOfThread* later_;
  bool sums_rise_ = true;  // also by where they begin
  /// Of each block of waits: where the first segment that begins in it or after it does.
  std::vector<std::uint32_t> boundaries_;
  std::vector<Segment> segments_;  // by the block that their first wait is in
};

}  // namespace whystall::timeline
