// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/numbering.h"
#include "model/recording.h"
#include "recording/reader.h"

namespace whystall::load {

/// Keeps the states of the threads that call the driver, and all births and moves, of a recording
/// whose states are too many to keep. That a thread calls the driver is known with its first call:
/// what passed before in earlier chunks is read again at the end.
class Callers {
 public:
  explicit Callers(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  void add(const wst_wait& wait);
  void add(const model::Sums& sums);
  void add(const wst_migrate& move);
  void see_call(model::Tid tid);
  /// After each chunk, with where it lies and what there is still room for.
  void end_chunk(std::uint64_t at, std::uint64_t room);

  /// Whether the chunk may hold what was missed.
  bool missed_at(std::uint64_t chunk) const {
    return !gone_ && any_missed_ && chunk <= missed_until_;
  }
  void take_missed(const recording::Chunk& chunk);

  /// Null: there was no room for them.
  std::unique_ptr<model::Recording> finish(model::TimeNs gone_until);

 private:
  struct Thread {
    bool calls = false, passed = false;
    bool late = false;               // it calls, but states of this chunk before it have passed
    std::uint64_t missed_until = 0;  // up to this chunk, if it has passed and calls
  };

  /// Null: there is no room for it.
  Thread* thread(model::Tid tid);
  /// Whether to keep what the thread did.
  bool wants(model::Tid tid);
  void keep(const wst_wait& wait);
  void keep(const model::Sums& sums);
  void took(std::uint64_t bytes);
  void give_up();

  std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0;
  bool gone_ = false;
  bool any_late_ = false, any_missed_ = false;
  std::uint64_t missed_until_ = 0;
  model::Numbering numbers_;
  std::vector<Thread> threads_;  // by number
  std::unique_ptr<model::Recording> kept_ = std::make_unique<model::Recording>();
};

}  // namespace whystall::load
