// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/time.h"

namespace whystall::timeline {

/// A record and its time, side by side: to search and to sort by time need not touch the record.
template <typename Record>
struct Timed {
  model::TimeNs at;
  const Record* record;
};

/// Sorts what is nearly sorted: records come CPU by CPU from short stretches of time, so each is
/// put in its place from behind. Where that is too far for too many, all are sorted as any.
template <typename Record, typename Before>
void sort_nearly_sorted(std::span<Timed<Record>> records, Before before) {
  std::size_t steps_left = 16 * records.size();
  for (std::size_t i = 1; i < records.size(); i++) {
    const Timed<Record> record = records[i];
    std::size_t place = i;
    for (; place > 0 && before(record.at, records[place - 1].at) && steps_left > 0; place--) {
      records[place] = records[place - 1];
      steps_left--;
    }
    records[place] = record;
    if (steps_left > 0) continue;
    std::stable_sort(
        records.begin(), records.end(),
        [&](const Timed<Record>& a, const Timed<Record>& b) { return before(a.at, b.at); });
    return;
  }
}

/// The records of each key side by side, those of a key as they came.
template <typename Record>
class Grouped {
 public:
  void reserve(std::size_t records) { records_.reserve(records); }
  void add(std::uint32_t number, model::TimeNs at, const Record& record) {
    records_.push_back({number, {at, &record}});
  }

  /// When all are there, of `count` keys.
  void group(std::size_t count) {
    begins_.assign(count + 1, 0);
    for (const Numbered& one : records_) begins_[one.number + 1]++;
    for (std::size_t i = 0; i < count; i++) begins_[i + 1] += begins_[i];
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    grouped_.resize(records_.size());
    for (const Numbered& one : records_) grouped_[next[one.number]++] = one.timed;
    records_ = {};
  }
  std::span<Timed<Record>> of(std::size_t number) {
    return std::span(grouped_).subspan(begins_[number], begins_[number + 1] - begins_[number]);
  }
  std::span<const Timed<Record>> of(std::size_t number) const {
    return std::span(grouped_).subspan(begins_[number], begins_[number + 1] - begins_[number]);
  }

 private:
  struct Numbered {
    std::uint32_t number;
    Timed<Record> timed;
  };

  std::vector<Numbered> records_;
  std::vector<std::uint32_t> begins_;
  std::vector<Timed<Record>> grouped_;
};

}  // namespace whystall::timeline
