// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace whystall::timeline {

/// Numbers keys from 0 in the order in which they first come. It is asked once for each record, so
/// it is a flat table, never more than half full.
class Numbering {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t add(std::uint32_t key) {
    std::size_t at = place(key);
    if (slots_[at].second != kNone) return slots_[at].second;
    if (2 * (keys_.size() + 1) > slots_.size()) {
      grow();
      at = place(key);
    }
    slots_[at] = {key, static_cast<std::uint32_t>(keys_.size())};
    keys_.push_back(key);
    return slots_[at].second;
  }
  /// kNone: there is no such key.
  std::uint32_t find(std::uint32_t key) const { return slots_[place(key)].second; }

  const std::vector<std::uint32_t>& keys() const { return keys_; }
  std::size_t size() const { return keys_.size(); }

 private:
  using Slot = std::pair<std::uint32_t, std::uint32_t>;  // key, number

  std::size_t place(std::uint32_t key) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    std::size_t at = (key * kOdd >> 32) & (slots_.size() - 1);
    while (slots_[at].second != kNone && slots_[at].first != key)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), {0, kNone});
    for (std::size_t i = 0; i < keys_.size(); i++)
      slots_[place(keys_[i])] = {keys_[i], static_cast<std::uint32_t>(i)};
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1024, {0, kNone});
  std::vector<std::uint32_t> keys_;
};

/// The records of each key side by side, those of a key as they came.
template <typename Record>
class Grouped {
 public:
  void add(std::uint32_t number, const Record& record) { records_.emplace_back(number, &record); }

  /// When all are there, of `count` keys.
  void group(std::size_t count) {
    begins_.assign(count + 1, 0);
    for (const auto& [number, record] : records_) begins_[number + 1]++;
    for (std::size_t i = 0; i < count; i++) begins_[i + 1] += begins_[i];
    std::vector<std::uint32_t> next(begins_.begin(), begins_.end() - 1);
    grouped_.resize(records_.size());
    for (const auto& [number, record] : records_) grouped_[next[number]++] = record;
    records_ = {};
  }
  std::span<const Record*> of(std::size_t number) {
    return std::span(grouped_).subspan(begins_[number], begins_[number + 1] - begins_[number]);
  }
  std::span<const Record* const> of(std::size_t number) const {
    return std::span(grouped_).subspan(begins_[number], begins_[number + 1] - begins_[number]);
  }

 private:
  std::vector<std::pair<std::uint32_t, const Record*>> records_;
  std::vector<std::uint32_t> begins_;
  std::vector<const Record*> grouped_;
};

}  // namespace whystall::timeline
