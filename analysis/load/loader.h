// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "load/believable.h"
#include "model/recording.h"
#include "recording/reader.h"

namespace whystall::load {

/// Takes the chunks of a recording and adds up the memory that its records take. What does not fit
/// is counted, not believed.
class Loader {
 public:
  /// What it may take in bytes, and what of that states may: waits, sums, slices, moves and sets of
  /// polled files. Where there are more of these, none are kept.
  Loader(std::uint64_t max_memory, std::uint64_t max_states)
      : max_memory_(max_memory), max_states_(max_states) {}

  /// False: there is more than the memory that it may take.
  bool take(const recording::Chunk& chunk);

  bool has_states() const { return keep_states_; }

  /// Ends it. Without states, `runners` has the names that slices tell.
  model::Recording finish(const recording::ReadStats& read);

 private:
  /// When a name was seen, and whether as that of the process's main thread.
  struct Runner {
    std::uint64_t at = 0;
    bool main = false;
    std::string name;
  };

  void add_record(std::span<const std::byte> bytes);
  void add_wait(std::span<const std::byte> bytes);
  void add_slice(std::span<const std::byte> bytes);
  void add_task(const wst_task& r);
  void add_file(std::span<const std::byte> bytes);
  void add_sums(std::span<const std::byte> bytes);
  void add_state_memory(std::uint64_t bytes);
  void drop_states();
  void begin_where_whole(model::TimeNs gone_until);

  template <typename Record>
  void add_to(std::vector<Record>& records, std::span<const std::byte> bytes) {
    records.push_back(copy_record<Record>(bytes));
    memory_ += kVectorFactor * sizeof(Record);
  }
  template <typename Record>
  void add_state(std::vector<Record>& records, std::span<const std::byte> bytes) {
    if (!keep_states_) return;
    records.push_back(copy_record<Record>(bytes));
    add_state_memory(kVectorFactor * sizeof(Record));
  }

  /// A vector that has just grown holds its records twice; later it may have as much room again.
  static constexpr std::uint64_t kVectorFactor = 2;

  model::Recording recording_;
  std::map<model::Tid, std::uint64_t> named_;  // when each task got the name that it has
  std::unordered_map<model::Pid, Runner> runners_;
  std::uint64_t max_memory_, max_states_;
  std::uint64_t memory_ = 0, state_memory_ = 0;
  bool keep_states_ = true;
  model::TimeNs last_ns_ = 0;  // of waits
  model::Sums passing_sums_;
};

/// The record that these bytes hold, which must fit.
void read_sums(model::Sums& sums, std::span<const std::byte> bytes);

/// Appends the record, if it is one; see fits().
template <typename Record>
bool append_if_fits(std::vector<Record>& records, std::span<const std::byte> bytes,
                    std::size_t least = sizeof(Record)) {
  if (bytes.size() < least) return false;
  records.push_back(copy_record<Record>(bytes));
  if (believable(records.back())) return true;
  records.pop_back();
  return false;
}

Error too_much_memory(const std::string& path, std::uint64_t max_memory);

}  // namespace whystall::load
