// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/leaf.h"
#include "timeline/timeline.h"
#include "walk/wait_kind.h"
#include "walk/walk.h"

namespace whystall::walk {

/// How the walk came to a thread: the one before waits for a lock that this one holds.
struct Edge {
  model::Cause lock = model::Cause::kUnknown;  // one of lock.*; unknown: for no lock
  bool sure = false;                           // that this thread held it all the time
  std::uint64_t address = 0;                   // of the lock's word; 0: the kernel's own
  /// Where its past is not recorded the chain ends at its process; unknown: it is the same process.
  model::Cause process = model::Cause::kUnknown;
  model::Pid pid = 0;
};

/// One walk: see Walks. What a thread did is told in walker.cpp, what it waited for in blocked.cpp.
class Walker {
 public:
  /// No leaf is surer than `start`. `walks` must outlive it.
  Walker(const Walks& walks, model::Confidence start)
      : walks_(walks), recording_(walks.recording), timeline_(walks.timeline), confidence_(start) {}

  /// Threads that did not wait yet when the one that is walked next did what is asked for.
  void came_through(std::vector<model::Hop> waited) {
    chain_ = std::move(waited);
    waited_ = chain_.size();
  }

  /// Answers for thread `tid` in `at`.
  void walk(model::Tid tid, model::Interval at, Edge edge);

  /// By time.
  std::vector<model::Leaf> take_leaves();

 private:
  using Confidence = model::Confidence;
  using Interval = model::Interval;

  model::TimeNs within_one_call(model::Tid tid, const timeline::Piece& piece, Interval at,
                                Edge edge);
  void step(model::Tid tid, const timeline::Piece& piece, Interval at, Edge edge);
  void running(model::Tid tid, Interval at, Edge edge);
  void computing(model::Tid tid, Interval at, Edge edge);
  void polling(model::Tid tid, Interval at);
  void inside_driver(model::Tid tid, Interval at);
  void runnable(const timeline::Piece& piece, Interval at);
  void who_ran(const timeline::Piece& piece, std::uint32_t cpu, Interval at);
  void waiting_for_cpu(const wst_wait& wait, Interval at);
  void mixed(model::Tid tid, const timeline::Piece& piece, Interval at, Edge edge);
  void mixed_round(model::Tid tid, const timeline::Mix& mix, Interval round, Interval at,
                   Edge edge);

  void blocked(const timeline::Piece& piece, Interval at, Edge edge);
  bool for_a_file(const wst_wait& wait, bool faulted, Interval at);
  void stopped(const wst_wait& wait, Interval at);
  void not_woken(const wst_wait& wait, Interval at);
  void still_blocked(const wst_wait& wait, Interval at);
  void timed_out(const wst_wait& wait, Interval at);
  void asked_for_interpreter(const wst_wait& wait, Interval at);
  void interrupted(const wst_wait& wait, Interval at);
  void follow_waker(const wst_wait& wait, Interval at);
  Edge edge_of(const wst_wait& wait) const;
  MutexEvidence lock_evidence(const wst_wait& wait) const;
  bool waits_for_device(const wst_wait& wait) const;
  bool held_by_a_task(const wst_wait& wait) const;

  void ends_at_process(Interval at, Edge edge);
  void lock_leaf(Interval at, model::Tid holder, Edge edge, bool slept);
  void unknown(Interval at, model::Tid tid, model::Reason reason);
  void emit(Interval at, model::Cause cause, Confidence confidence, const model::Object& object);

  bool is_target(model::Tid tid) const;
  bool is_target_process(model::Pid pid) const;
  bool is_kernel(model::Tid tid) const;
  model::Pid pid_of(model::Tid tid) const;

  /// At most as sure as `bound` while it lives.
  class Bound {
   public:
    Bound(Walker& walker, Confidence bound) : walker_(walker), before_(walker.confidence_) {
      walker_.confidence_ = worse(before_, bound);
    }
    ~Bound() { walker_.confidence_ = before_; }
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

   private:
    Walker& walker_;
    Confidence before_;
  };

  const Walks& walks_;
  const model::Recording& recording_;
  const timeline::Timeline& timeline_;
  const wst_api* call_ = nullptr;  // the driver call that the thread is in, in this step
  Confidence confidence_;
  std::vector<model::Hop> chain_;
  std::size_t waited_ = 0;  // of the chain: see came_through()
  std::vector<model::Leaf> leaves_;
};

}  // namespace whystall::walk
