// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "timeline/later.h"
#include "timeline/piece.h"

namespace whystall::timeline {

struct Stay;

/// Puts the stays of one thread off the CPU together, from the last to the first.
///
/// At each instant the first record to end after it counts, if it had begun. A timed wait that
/// expired, or lost the race for the word, and waits on the same word again is one wait with the
/// next: whoever ended that one is the cause. The short runs between belong to it; time waiting for
/// a CPU stays what it is. The last of such waits is what its own record says.
class Stays {
 public:
  /// `next`, which may be null: what is known from later records; it must outlive the pieces.
  /// `room` is used, and what was in it goes; null: no pieces are wanted.
  Stays(const NextOfThread* next, std::vector<Piece>* room);

  /// In falling order of h.ts. `wait` must outlive the pieces.
  void add(const wst_wait& wait);

  /// What the records so far tell of the time before them; without sums.
  NextOfThread next() const;

  /// What comes before `wait` does not depend on what came after it, but for whether a fault ended
  /// in between: that, the next wait to end tells.
  static bool stands_alone(const wst_wait& wait);

  /// Ends it, if pieces are wanted: they come by time.
  std::vector<Piece> take();

 private:
  struct Sleep {
    const wst_wait* wait = nullptr;  // null: none is known to follow
    const wst_wait* ends_with = nullptr;
    model::TimeNs at = 0, from = 0;
    model::DurationNs ran = 0;
  };

  void begin_pieces();
  void add_pieces(const Stay& stay, const wst_wait& wait, bool faulted, bool merged,
                  bool leads_at_once);
  bool leads_to_sleep(model::TimeNs from) const;
  void join_runs_before_sleep();
  void lead_to_sleep(model::TimeNs end);

  const wst_wait* next_ = nullptr;
  bool next_faulted_ = false;
  Sleep sleep_;
  std::vector<Piece>* pieces_;  // last first
};

}  // namespace whystall::timeline
