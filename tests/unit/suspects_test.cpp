// SPDX-License-Identifier: Apache-2.0
#include "ledger/suspects.h"

#include <gtest/gtest.h>

#include "output/words.h"
#include "support/diagnoses.h"
#include "support/recording_builder.h"

namespace whystall::ledger {
namespace {

using model::Cause;
using model::Diagnosis;
using testing::finding;
using Verdict = model::Suspect::Verdict;

/// A stall of a second that went to reads, with all sources there.
class SuspectsTest : public ::testing::Test {
 protected:
  SuspectsTest() { with({finding(Cause::kStorageRead, 1'000'000'000, "/data/1 on ext4")}); }

  void with(std::vector<model::Finding> findings) {
    d = testing::diagnosis(std::move(findings));
    for (const char* name : {"waits", "wake context", "driver calls"})
      d.meta.sources.push_back({name, "live", "", true, d.meta.start_ns, 0});
    d.meta.cost_cpu_share = 0.0001;
  }
  model::Source& source(const char* name) {
    return *std::find_if(d.meta.sources.begin(), d.meta.sources.end(),
                         [&](const model::Source& s) { return s.name == name; });
  }
  model::Suspect suspect(const char* name) {
    for (const auto& s : suspects(d, watched)) {
      if (s.name == name) return s;
    }
    ADD_FAILURE() << name;
    return {};
  }
  void expect_not_checked(const char* name, const char* why) {
    EXPECT_EQ(suspect(name).verdict, Verdict::kNotChecked) << name;
    EXPECT_EQ(suspect(name).why, why) << name;
  }

  Diagnosis d;
  Watched watched;
};

TEST_F(SuspectsTest, WhatWasWatchedAndHasNoShareIsCleared) {
  for (const char* name : {"cpu_quota", "cpu_wait", "storage_write", "locks", "network", "stops",
                           "page_faults", "device_transfers", "observer"}) {
    EXPECT_EQ(suspect(name).verdict, Verdict::kCleared) << name << ": " << suspect(name).why;
    EXPECT_EQ(suspect(name).why, "") << name;
  }
  EXPECT_EQ(suspect("storage_read").verdict, Verdict::kFound);
  EXPECT_EQ(suspect("storage_read").ns, 1'000'000'000);
}

TEST_F(SuspectsTest, WhatNothingWatchesIsNeverCleared) {
  expect_not_checked("swap", "not watched");
  expect_not_checked("memory_reclaim", "not watched");
  expect_not_checked("device_speed", "no GPU clock");
}

TEST_F(SuspectsTest, AHundredthIsFoundAndLessIsCleared) {
  with({finding(Cause::kStorageRead, 989'000'000, "a"),
        finding(Cause::kCpuThrottled, 11'000'000, "b")});
  EXPECT_EQ(suspect("cpu_quota").verdict, Verdict::kFound);
  with({finding(Cause::kStorageRead, 991'000'000, "a"),
        finding(Cause::kCpuThrottled, 9'000'000, "b")});
  EXPECT_EQ(suspect("cpu_quota").verdict, Verdict::kCleared);
}

TEST_F(SuspectsTest, ASourceThatWasNotThereAllTheTimeClearsNothing) {
  source("waits").from_ns = d.meta.start_ns + 1;
  expect_not_checked("cpu_quota", "waits not watched all the time");
  source("waits").from_ns = d.meta.start_ns;
  source("waits").until_ns = d.meta.end_ns - 1;
  expect_not_checked("locks", "waits not watched all the time");
}

TEST_F(SuspectsTest, NorOneThatIsDegradedMissingUntestedOrNotTold) {
  source("driver calls").state = "degraded";
  expect_not_checked("device_transfers", "driver calls not all seen");
  source("driver calls").state = "missing";
  expect_not_checked("device_transfers", "driver calls not watched");
  EXPECT_EQ(suspect("locks").verdict, Verdict::kCleared) << "they need no driver calls";
  source("wake context").tested = false;
  expect_not_checked("network", "no self-test of its source");
  watched.wake_context = true;  // what it recorded is as good
  EXPECT_EQ(suspect("network").verdict, Verdict::kCleared);
  d.meta.sources.clear();
  expect_not_checked("network", "its source is not told of");
}

TEST_F(SuspectsTest, NorWhereEventsWereLost) {
  watched.where_lost_ns = 10'000'000;
  expect_not_checked("cpu_wait", "events lost");
  watched.where_lost_ns = 9'000'000;
  EXPECT_EQ(suspect("cpu_wait").verdict, Verdict::kCleared) << "too little to matter";
  watched.lost_calls = 1;
  expect_not_checked("device_transfers", "events lost");
  EXPECT_EQ(suspect("cpu_wait").verdict, Verdict::kCleared);
  d.load.no_end = true;
  expect_not_checked("cpu_wait", "recording cut short");
}

TEST_F(SuspectsTest, NorWhatTheUnknownMayHide) {
  auto unknown = finding(Cause::kUnknown, 20'000'000, "");
  unknown.objects[0].id.reason = model::Reason::kKernelWorker;
  with({finding(Cause::kStorageWrite, 980'000'000, "a"), unknown});
  expect_not_checked("storage_read", "perhaps in the unknown");
  EXPECT_EQ(suspect("cpu_quota").verdict, Verdict::kCleared) << "no kernel worker is a quota";
  d.findings.back().objects[0].id.reason = model::Reason::kNoRecord;
  expect_not_checked("cpu_quota", "perhaps in the unknown");
}

TEST_F(SuspectsTest, NorWhatMayStandBehindAnotherProcess) {
  with({finding(Cause::kIpcWorker, 1'000'000'000, "other 9")});
  expect_not_checked("storage_read", "perhaps behind another process");
}

TEST_F(SuspectsTest, FaultsThatCountAsComputingAreNotCleared) {
  with({finding(Cause::kCpuBusy, 1'000'000'000, "main 1")});
  expect_not_checked("page_faults", "perhaps in cpu.busy");
}

TEST_F(SuspectsTest, WhystallIsClearedByItsOwnCostAlone) {
  d.meta.cost_cpu_share = -1;
  expect_not_checked("observer", "its cost was not measured");
  d.meta.cost_cpu_share = 0.5;
  expect_not_checked("observer", "its probes may matter");
}

TEST_F(SuspectsTest, ALockWhoseTimeWentToItsHoldersReadIsFound) {
  d.through_locks.push_back({0x7f00, 7, "lock 0x7f00 held by x 7", 500'000'000, 3});
  EXPECT_EQ(suspect("locks").verdict, Verdict::kFound);
}

TEST_F(SuspectsTest, WithoutAStallThereIsNobodyToSuspect) {
  d = testing::diagnosis({});
  EXPECT_TRUE(suspects(d, watched).empty());
}

TEST_F(SuspectsTest, TheScreenNamesBothInALineEach) {
  const auto all = suspects(d, watched);
  const std::string text = output::suspects_words(all, 80, 2);
  EXPECT_NE(text.find("Not the cause: CPU quota, waiting for a CPU, "), std::string::npos) << text;
  EXPECT_NE(
      text.find("Not checked: swap, memory reclaim (not watched), device speed (no GPU clock)"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("storage reads"), std::string::npos) << "a cause is in the table\n" << text;
  const std::string narrow = output::suspects_words(all, 80, 1);
  EXPECT_EQ(std::count(narrow.begin(), narrow.end(), '\n'), 2) << narrow;
  EXPECT_NE(narrow.find(" more."), std::string::npos) << narrow;
}

TEST(WatchedIn, CountsLossesOfTheWindowAndWhatTheRecordsShow) {
  using namespace testing;
  RecordingBuilder b;
  b.window(10_ms, 100_ms).task(1, 1, "main");
  b.loss(3, WST_LOST_API, 20_ms, 30_ms).loss(5, WST_LOST_API, 1_ms, 2_ms);
  b.loss(7, WST_LOST_API).loss(9, WST_LOST_WAIT, 20_ms, 30_ms);
  EXPECT_FALSE(watched_in(b.build()).waits);
  b.blocked(1, 10_ms, 20_ms, 30_ms).woken_by(2, 2);
  EXPECT_FALSE(watched_in(b.build()).wake_context);
  b.blocked(1, 30_ms, 40_ms, 50_ms).woken_in(WST_CTX_SOFTIRQ);
  b.submit(50_ms, 1);
  const Watched w = watched_in(b.build());
  EXPECT_TRUE(w.waits && w.wake_context && w.driver_calls);
  EXPECT_EQ(w.lost_calls, 10u) << "not those before the window, but those without a time";
}

}  // namespace
}  // namespace whystall::ledger
