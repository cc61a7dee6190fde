// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "evidence/history.h"
#include "load/source.h"
#include "timeline/timeline.h"

namespace whystall::ledger {

/// What is read of threads' states before any gap is known.
struct Survey {
  evidence::History history;
  /// Of each slab: the last move of each thread before it.
  std::vector<std::vector<wst_migrate>> moved_before;
};

/// Reads the states of a recording slab by slab, from its end. A record comes when what it tells of
/// is over, so what a slab must know of those after it is one record for each thread and CPU.
/// Memory: that of one slab, and what the survey keeps.
class Sweep {
 public:
  explicit Sweep(load::Source& source) : source_(source) {}

  /// Error: unreadable.
  Result<Survey> survey();

  /// Calls `visit(timeline, at)` for each slab, the last one first. Error: unreadable.
  template <typename Visit>
  Status walk(const Survey& survey, Visit visit) {
    timeline::Later later;
    for (std::size_t slab = source_.slabs().size(); slab-- > 0;) {
      if (whole_) {
        visit(*whole_, at(slab));
        continue;
      }
      auto records = source_.states(slab, timeline::kBetweenWaits, nullptr);
      if (!records) return records.error();
      timeline::Timeline timeline(
          timeline::Slab{**records, at(slab).lo, later, survey.moved_before[slab]});
      visit(timeline, at(slab));
      timeline::Later next = timeline.take_later();
      later = std::move(next);
    }
    return Nothing{};
  }

 private:
  model::Interval at(std::size_t slab) const;
  std::size_t slab_of(model::TimeNs t) const;

  load::Source& source_;
  /// Of a recording that is one slab, the timeline serves both.
  std::unique_ptr<timeline::Timeline> whole_;
};

}  // namespace whystall::ledger
