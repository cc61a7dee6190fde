// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <vector>

#include "lineage/lengths.h"
#include "model/leaf.h"

namespace whystall::lineage {

/// How long the pieces of each cause are, in all periods and before them.
using Usual = std::map<model::Cause, Lengths>;

/// How much longer than usual pieces were.
struct Excess {
  struct Part {
    model::Leaf longest;
    model::DurationNs ns = 0;
  };
  std::vector<Part> parts;

  model::DurationNs sum() const;
};

/// What a thread did in a time, each piece whole.
class Period {
 public:
  /// In any order; none is a part of another one.
  void add(const model::Leaf& piece);

  model::DurationNs length() const { return ns_; }
  std::size_t objects() const { return spent_.size(); }
  model::DurationNs spent_on(model::Cause cause) const;

  /// Cuts `late`, a part of a gap, into leaves by what the period was spent on. First by what was
  /// longer than one and a half times the median of all others: that made it late, as did what is
  /// left of that from the periods before; if there is less of it than `late`, the rest by how much
  /// there was of each. Each leaf has the object and the chain of the longest piece; its place
  /// within `late` means nothing. They come by time and sum to `late`. `left` is what no delivery
  /// was late for yet: of the periods before it, then of this one too.
  std::vector<model::Leaf> spread(model::Interval late, const Usual& usual, Excess& left) const;

 private:
  /// Of one cause and object.
  struct Spent {
    model::Leaf longest;
    model::DurationNs ns = 0;
    Lengths lengths;
  };

  Spent& of(const model::Leaf& piece);
  Excess excess(const Usual& usual) const;

  std::vector<Spent> spent_;
  model::DurationNs ns_ = 0;
};

}  // namespace whystall::lineage
