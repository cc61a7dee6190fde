// SPDX-License-Identifier: Apache-2.0
//
// dump_states FILE.wst [TID LO HI]...: how long threads were in each state by the analysis's own
// timeline, between two times; without times, each target thread in the recording's window. One
// line of JSON each. What a mixed piece adds up is counted by its shares. Beside the timeline: how
// often the thread left the CPU, and how long it ran by the records' own sums of short waits, which
// know nothing of mixed pieces and of waits that are merged.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "load/load.h"
#include "timeline/timeline.h"

namespace {

using nlohmann::json;
using whystall::model::DurationNs;
using whystall::model::Interval;
using whystall::model::Recording;
using whystall::model::Tid;
using whystall::model::TimeNs;
using whystall::timeline::Mix;
using whystall::timeline::Piece;
using whystall::timeline::State;
using whystall::timeline::Timeline;

TimeNs time(std::uint64_t ns) {
  return static_cast<TimeNs>(ns);
}

Interval common(Interval a, Interval b) {
  return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
}

struct Totals {
  double running = 0, runnable = 0, blocked = 0;
  DurationNs mixed = 0, merged = 0, missing = 0, twice = 0;
};

void add_mixed(const Mix& mix, double length, Totals& totals) {
  double blocked = 0, runnable = 0;
  for (const auto& share : mix.shares) {
    blocked += static_cast<double>(share.blocked);
    runnable += static_cast<double>(share.runnable);
  }
  const double part = length / static_cast<double>(mix.length);
  totals.blocked += part * blocked;
  totals.runnable += part * runnable;
  totals.running += length - part * (blocked + runnable);
}

Totals totals_of(const Timeline& timeline, Tid tid, Interval within) {
  Totals totals;
  TimeNs done = within.lo;
  for (const Piece& piece : timeline.thread(tid)) {
    const Interval at = common(piece.at, within);
    if (at.length() == 0) continue;
    if (at.lo > done) totals.missing += at.lo - done;
    if (at.lo < done) totals.twice += done - at.lo;
    done = std::max(done, at.hi);
    const auto length = static_cast<double>(at.length());
    if (piece.merged) totals.merged += at.length();
    if (piece.state == State::kMixed) {
      totals.mixed += at.length();
      add_mixed(*piece.mix, length, totals);
    } else {
      (piece.state == State::kRunning    ? totals.running
       : piece.state == State::kRunnable ? totals.runnable
                                         : totals.blocked) += length;
    }
  }
  totals.missing += std::max<DurationNs>(0, within.hi - done);
  return totals;
}

std::uint64_t stays_of(const Recording& recording, Tid tid, Interval within) {
  const auto inside = [&](std::uint64_t t) { return within.lo <= time(t) && time(t) < within.hi; };
  std::uint64_t stays = 0;
  for (const wst_wait& w : recording.waits)
    stays += w.tid == tid && !(w.flags & WST_WAIT_OPEN) && inside(w.out_ns);
  for (const auto& sums : recording.sums) {
    if (sums.head.tid != tid || sums.head.flags & WST_SUMS_SNAPSHOT) continue;
    for (const wst_sum& sum : sums.entries) stays += inside(sum.in_ns) ? sum.count : 0;
  }
  return stays;
}

/// Between two waits that have a record of their own the thread ran, but for its short waits, of
/// which each record has the sum so far.
double counted_ns(const Recording& recording, Tid tid, Interval within) {
  double ran = 0;
  const wst_wait* before = nullptr;
  const wst_wait* open = nullptr;  // what goes on at the end
  const auto add_run_until = [&](const wst_wait& w) {
    const Interval run{time(before ? before->h.ts : w.ran_ns), time(w.out_ns)};
    if (run.lo == 0 || run.length() == 0) return;
    auto waited = static_cast<double>(w.short_blocked_ns + w.short_runnable_ns);
    if (before) waited -= static_cast<double>(before->short_blocked_ns + before->short_runnable_ns);
    const auto length = static_cast<double>(run.length());
    ran += static_cast<double>(common(run, within).length()) * (1 - waited / length);
  };
  for (const wst_wait& w : recording.waits) {
    if (w.tid != tid) continue;
    open = w.flags & WST_WAIT_OPEN ? &w : nullptr;
    if (open) continue;
    add_run_until(w);
    before = &w;
  }
  if (open) add_run_until(*open);
  return ran;
}

void print(const Recording& recording, const Timeline& timeline, Tid tid, Interval within) {
  const Totals t = totals_of(timeline, tid, within);
  const json line = {{"tid", tid},
                     {"length_ns", within.length()},
                     {"running_ns", t.running},
                     {"runnable_ns", t.runnable},
                     {"blocked_ns", t.blocked},
                     {"mixed_ns", t.mixed},
                     {"merged_ns", t.merged},
                     {"missing_ns", t.missing},
                     {"twice_ns", t.twice},
                     {"stays", stays_of(recording, tid, within)},
                     {"counted_ns", counted_ns(recording, tid, within)}};
  std::puts(line.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc % 3 != 2) return 2;
  auto recording = whystall::load::load_recording(argv[1]);
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().text.c_str());
    return 5;
  }
  const Timeline timeline(*recording);
  for (int i = 2; i < argc; i += 3) {
    print(*recording, timeline, static_cast<Tid>(std::atoi(argv[i])),
          {std::atoll(argv[i + 1]), std::atoll(argv[i + 2])});
  }
  if (argc == 2) {
    for (const auto& [tid, task] : recording->tasks) {
      if (task.target) print(*recording, timeline, tid, recording->window());
    }
  }
  std::uint64_t lost = recording->stats.bad_records + recording->stats.damaged_chunks;
  // Events of tasks that are not known: of a target, they would be missing from its time.
  for (const wst_loss& loss : recording->losses)
    lost += loss.loss_class == WST_LOST_STORAGE ? 0 : loss.count;
  std::puts(json{{"lost", lost}}.dump().c_str());
  return 0;
}
