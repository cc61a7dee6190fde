// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whystall::model {

/// Numbers keys from 0 in the order in which they first come. It is asked once for each record, so
/// it is a flat table, never more than half full.
class Numbering {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// What a key takes.
  static constexpr std::size_t kMostBytes = 48;

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

}  // namespace whystall::model
