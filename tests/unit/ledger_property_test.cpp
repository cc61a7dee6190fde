// SPDX-License-Identifier: Apache-2.0
// What holds for every recording, also for those that contradict themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "gaps/gaps.h"
#include "ledger/ledger.h"
#include "output/output.h"
#include "support/found_gaps.h"
#include "support/random_recording.h"
#include "timeline/timeline.h"
#include "walk/walk.h"

namespace whystall::ledger {
namespace {

using model::Diagnosis;
using model::DurationNs;
using model::Finding;
using testing::RandomRecording;

// The sanitizers look for other faults, and make each recording thirty times as dear.
#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kRecordings = 600;
#else
constexpr std::uint64_t kRecordings = 3'000;
#endif

void check_finding(const Finding& f, const Diagnosis& d) {
  EXPECT_GT(f.ns, 0);
  DurationNs sum = 0;
  for (const DurationNs ns : f.by_confidence) {
    EXPECT_GE(ns, 0);
    sum += ns;
  }
  EXPECT_EQ(sum, f.ns) << "by_confidence";
  EXPECT_EQ(f.by_confidence[static_cast<std::size_t>(f.confidence)],
            *std::max_element(f.by_confidence.begin(), f.by_confidence.end()));
  sum = 0;
  for (const auto& object : f.objects) {
    EXPECT_GT(object.ns, 0);
    sum += object.ns;
  }
  EXPECT_EQ(sum, f.ns) << "objects";
  EXPECT_TRUE(std::is_sorted(f.objects.begin(), f.objects.end(),
                             [](const auto& a, const auto& b) { return a.ns > b.ns; }));
  EXPECT_GE(f.gaps, 1u);
  EXPECT_LE(f.gaps, d.gaps + d.micro_gaps);
  EXPECT_GE(f.pieces, f.gaps);
}

void check_sums(const Diagnosis& d, std::size_t processes) {
  EXPECT_EQ(d.conservation_error_ns, 0);
  EXPECT_EQ(d.starved_ns + d.micro_gap_ns + d.had_work_ns + d.not_known_ns, d.observed_ns());
  EXPECT_GE(d.starved_ns, 0);
  EXPECT_GE(d.micro_gap_ns, 0);
  EXPECT_LE(d.starved_proven_ns, d.starved_ns);
  EXPECT_GE(d.had_work_ns, 0);
  EXPECT_GE(d.not_known_ns, 0);
  EXPECT_LE(d.silent_ns + d.possibly_starved_ns, 2 * d.not_known_ns);
  EXPECT_EQ(d.contexts, std::max<std::size_t>(1, processes));
  DurationNs sum = 0, launch = 0;
  for (const Finding& f : d.findings) {
    check_finding(f, d);
    sum += f.ns;
    if (f.cause == model::Cause::kGpuLaunch) launch += f.ns;
  }
  EXPECT_EQ(sum, d.starved_ns + d.micro_gap_ns);
  EXPECT_EQ(launch, d.micro_gap_ns);
  EXPECT_LE(d.explained_ns(), d.stalled_ns());
}

TEST(LedgerProperty, TimeIsConservedForAnyRecording) {
  RandomRecording source(4711);
  std::set<model::Cause> met;
  for (std::uint64_t i = 0; i < kRecordings && !HasFailure(); i++) {
    SCOPED_TRACE("recording " + std::to_string(i));
    const auto recording = source.make();
    const Diagnosis d = diagnose(recording);
    std::set<model::Pid> processes;
    for (const wst_api& call : recording.api) processes.insert(call.tgid);
    check_sums(d, processes.size());
    for (const Finding& f : d.findings) met.insert(f.cause);
  }
  EXPECT_TRUE(HasFailure() || met.size() >= 14u)
      << met.size() << "the recordings reach too few causes";
}

TEST(LedgerProperty, LeavesCoverEachGapOnceAndInOrder) {
  RandomRecording source(815);
  for (std::uint64_t i = 0; i < kRecordings && !HasFailure(); i++) {
    SCOPED_TRACE("recording " + std::to_string(i));
    const auto recording = source.make();
    const timeline::Timeline timeline(recording);
    const walk::Walks walks(recording, timeline);
    for (const gaps::Gap& gap : testing::find_gaps(recording).gaps) {
      EXPECT_GE(gap.at.lo, recording.window().lo);
      EXPECT_LE(gap.at.hi, recording.window().hi);
      model::TimeNs at = gap.at.lo;
      for (const model::Leaf& leaf : walks.walk(gap)) {
        EXPECT_EQ(leaf.at.lo, at);
        EXPECT_GT(leaf.at.hi, leaf.at.lo);
        EXPECT_LE(leaf.chain.size(), 16u);
        EXPECT_GE(leaf.confidence, gap.confidence);
        EXPECT_EQ(leaf.cause == model::Cause::kUnknown, leaf.object.reason != model::Reason::kNone);
        at = leaf.at.hi;
      }
      EXPECT_EQ(at, gap.at.hi);
    }
  }
}

TEST(LedgerProperty, GapsOfOneProcessDoNotOverlap) {
  RandomRecording source(1);
  for (std::uint64_t i = 0; i < kRecordings && !HasFailure(); i++) {
    std::map<model::Pid, model::TimeNs> end;
    for (const gaps::Gap& gap : testing::find_gaps(source.make()).gaps) {
      EXPECT_GE(gap.at.lo, end[gap.pid]) << "recording " << i;
      end[gap.pid] = gap.at.hi;
    }
  }
}

TEST(LedgerProperty, TheOrderInWhichRecordsArriveChangesNothing) {
  RandomRecording source(2024);
  auto by_time = [](const auto& a, const auto& b) { return a.h.ts < b.h.ts; };
  auto shuffle_and_sort = [&](auto& records) {
    std::shuffle(records.begin(), records.end(), source.random());
    std::stable_sort(records.begin(), records.end(), by_time);
  };
  for (std::uint64_t i = 0; i < 1'000 && !HasFailure(); i++) {
    auto recording = source.make();
    const std::string before = output::render_json(diagnose(recording));
    shuffle_and_sort(recording.waits);
    shuffle_and_sort(recording.slices);
    shuffle_and_sort(recording.api);
    EXPECT_EQ(output::render_json(diagnose(recording)), before) << "recording " << i;
  }
}

}  // namespace
}  // namespace whystall::ledger
