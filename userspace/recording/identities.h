// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace whystall::recording {

/// The TASK and FILE records seen so far, and of each thread the API record by which it last
/// changed its context. The kernel emits each once, but in a recording whose oldest chunks make
/// way, each group of chunks must hold those that its records refer to.
class Identities {
 public:
  /// `max_bytes` bounds the memory; beyond it, what was not used for longest is forgotten.
  explicit Identities(std::size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  /// The identity records that must be written before `record`: it refers to them and this group
  /// has not got them. Valid until the next call.
  std::span<const std::span<const std::byte>> missing_for(std::span<const std::byte> record);

  void begin_group();

  std::size_t size() const { return known_.size(); }

 private:
  static constexpr std::size_t kMaxBytes = 24u << 20;

  enum class Kind : std::uint32_t { kTask, kFile, kContext };
  struct Key {
    std::uint64_t number = 0;  // tid or inode
    std::uint32_t dev = 0;     // of files alone
    std::uint32_t generation = 0;
    Kind kind = Kind::kTask;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const auto kind = static_cast<std::uint32_t>(key.kind);
      return (((key.number * 31 + key.dev) * 31 + key.generation) * 31 + kind) *
                 0x9e3779b97f4a7c15 >>
             20;
    }
  };
  struct Known {
    std::vector<std::byte> record;
    std::uint64_t group;  // the latest that holds it
  };

  void keep(const Key& key, std::span<const std::byte> record);
  void refer_to(const Key& key);
  void refer_to_task(std::uint32_t tid);
  void refer_to_wakers(std::span<const std::byte> sums, std::size_t count);
  void forget_half();

  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t group_ = 1;
  std::unordered_map<Key, Known, Hash> known_;
  std::vector<std::span<const std::byte>> missing_;
  /// By hash, what was lately found to be in this group: most records refer to the same few.
  std::array<Key, 2048> settled_{};
};

}  // namespace whystall::recording
