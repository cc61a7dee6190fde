// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "load/source.h"

namespace whystall::testing {

/// A recording in memory as one that is read in slabs: what it gives as a whole lacks the states,
/// and a slab holds no more than it must.
class SlicedRecording final : public load::Source {
 public:
  /// Cut at these times. `keeps_callers`: see take_callers().
  SlicedRecording(model::Recording all, std::vector<model::TimeNs> cuts, bool keeps_callers = false)
      : all_(std::move(all)), begins_(std::move(cuts)), keeps_callers_(keeps_callers) {
    begins_.push_back(std::numeric_limits<model::TimeNs>::min());
    std::sort(begins_.begin(), begins_.end());
    begins_.erase(std::unique(begins_.begin(), begins_.end()), begins_.end());
    whole_ = all_;
    whole_.waits.clear();
    whole_.sums.clear();
    whole_.slices.clear();
    whole_.migrations.clear();
    whole_.pollsets.clear();
    for (const wst_wait& wait : all_.waits) {
      whole_.last_wakes.see(wait);
      whole_.expired_waits.see(wait);
    }
    for (const model::Sums& sums : all_.sums) {
      for (const wst_sum& sum : sums.entries) whole_.last_wakes.see(sums.head, sum);
    }
    for (const wst_slice& s : all_.slices) {
      const std::string name(s.comm, strnlen(s.comm, sizeof s.comm));
      if (s.tid == s.tgid || !whole_.runners.contains(s.tgid)) whole_.runners[s.tgid] = name;
    }
  }

  const model::Recording& whole() const override { return whole_; }
  std::span<const model::TimeNs> slabs() const override { return begins_; }
  std::unique_ptr<const model::Recording> take_callers() override {
    if (!keeps_callers_) return nullptr;
    auto callers = std::make_unique<model::Recording>();
    const auto calls = [&](model::Tid tid) {
      return std::any_of(all_.api.begin(), all_.api.end(),
                         [&](const wst_api& call) { return call.tid == tid; });
    };
    std::copy_if(all_.waits.begin(), all_.waits.end(), std::back_inserter(callers->waits),
                 [&](const wst_wait& w) { return calls(w.tid) || (w.flags & WST_WAIT_BORN) != 0; });
    std::copy_if(all_.sums.begin(), all_.sums.end(), std::back_inserter(callers->sums),
                 [&](const model::Sums& sums) { return calls(sums.head.tid); });
    callers->migrations = all_.migrations;
    return callers;
  }
  Result<const model::Recording*> states(std::size_t slab, model::DurationNs before_ns,
                                         const std::unordered_set<model::Tid>* only) override {
    const bool first = slab == 0, last = slab + 1 == begins_.size();
    const auto lo = first ? begins_[0] : begins_[slab] - before_ns;
    const auto hi = last ? std::numeric_limits<model::TimeNs>::max() : begins_[slab + 1];
    const auto inside = [&](const wst_hdr& h) {
      const auto at = static_cast<model::TimeNs>(h.ts);
      return at >= lo && at < hi;
    };
    const auto copy = [&](const auto& from, auto& to) {
      to.clear();
      std::copy_if(from.begin(), from.end(), std::back_inserter(to),
                   [&](const auto& r) { return inside(r.h); });
    };
    copy(all_.waits, slab_.waits);
    if (only) {
      std::erase_if(slab_.waits, [&](const wst_wait& w) { return !only->contains(w.tid); });
    }
    copy(all_.slices, slab_.slices);
    copy(all_.migrations, slab_.migrations);
    slab_.sums.clear();
    std::copy_if(all_.sums.begin(), all_.sums.end(), std::back_inserter(slab_.sums),
                 [&](const model::Sums& sums) {
                   return inside(sums.head.h) && (!only || only->contains(sums.head.tid));
                 });
    return &slab_;
  }

 private:
  model::Recording all_, whole_, slab_;
  std::vector<model::TimeNs> begins_;
  bool keeps_callers_;
};

}  // namespace whystall::testing
