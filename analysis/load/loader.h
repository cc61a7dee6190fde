// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "load/believable.h"
#include "load/callers.h"
#include "load/memory.h"
#include "load/place.h"
#include "model/recording.h"
#include "recording/reader.h"

namespace whystall::load {

/// Takes the chunks of a recording and adds up the memory that its records take. What does not fit
/// is counted, not believed.
class Loader {
 public:
  /// What it may take in bytes, and what of that states may: waits, sums, slices, moves and sets of
  /// polled files. Where there are more of these, only those of callers() are kept, and where these
  /// take more than `max_callers`, none are.
  Loader(std::uint64_t max_memory, std::uint64_t max_states, std::uint64_t max_callers = 0)
      : max_memory_(max_memory), max_states_(max_states), callers_(max_callers) {}

  /// False: there is more than the memory that it may take.
  bool take(const recording::Chunk& chunk);

  /// Of the last chunk: where it lies, and what of states it holds.
  const Place& place() const { return place_; }

  bool has_states() const { return keep_states_; }
  /// Takes, when all chunks have been, the states that it let pass before it knew that they were
  /// those of a thread that calls the driver. Asks `read(at, chunk)` for chunks again, of which
  /// these hold states; false: it could not.
  template <typename Read>
  bool take_missed(const std::vector<std::uint64_t>& places, Read read) {
    recording::Chunk chunk;
    for (const std::uint64_t at : places) {
      if (!callers_.missed_at(at)) continue;
      if (!read(at, chunk)) return false;
      callers_.take_missed(chunk);
    }
    return true;
  }

  /// Ends it. Without states, `runners` has the names that slices tell.
  model::Recording finish(const recording::ReadStats& read);
  /// Then, where it has no states: those of the threads that call the driver. Null: they are not
  /// kept.
  std::unique_ptr<model::Recording> callers() { return callers_.finish(gone_until_); }

 private:
  /// When a name was seen, and whether as that of the process's main thread.
  struct Runner {
    std::uint64_t at = 0;
    bool main = false;
    char comm[WST_COMM_LEN] = {};
  };

  // False: the record is not what its kind must be.
  bool add_record(std::span<const std::byte> bytes);
  bool add_task(std::span<const std::byte> bytes);
  bool add_wait(std::span<const std::byte> bytes);
  bool add_slice(std::span<const std::byte> bytes);
  bool add_api(std::span<const std::byte> bytes);
  bool add_file(std::span<const std::byte> bytes);
  bool add_sums(std::span<const std::byte> bytes);
  bool add_move(std::span<const std::byte> bytes);
  bool add_pollset(std::span<const std::byte> bytes);
  void add_state_memory(std::uint64_t bytes);
  void drop_states();
  void begin_where_whole(model::TimeNs gone_until);

  template <typename Record>
  bool add_to(std::vector<Record>& records, std::span<const std::byte> bytes) {
    Record record;
    if (!read_record(record, bytes)) return false;
    records.push_back(record);
    memory_ += kVectorFactor * sizeof record;
    return true;
  }
  template <typename Record>
  void keep_state(std::vector<Record>& records, const Record& record) {
    records.push_back(record);
    add_state_memory(kVectorFactor * sizeof record);
  }

  model::Recording recording_;
  std::map<model::Tid, std::uint64_t> named_;  // when each task got the name that it has
  std::unordered_map<model::Pid, Runner> runners_;
  std::uint64_t max_memory_, max_states_;
  std::uint64_t memory_ = 0, state_memory_ = 0;
  bool keep_states_ = true;
  model::TimeNs last_ns_ = 0;  // of waits
  Place place_;
  model::Sums passing_sums_;
  Callers callers_;
  model::TimeNs gone_until_ = 0;  // what lies before has made way
};

Error too_much_memory(const std::string& path, std::uint64_t max_memory);

}  // namespace whystall::load
