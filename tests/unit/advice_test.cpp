// SPDX-License-Identifier: Apache-2.0
#include "advice/advice.h"

#include <gtest/gtest.h>

#include <set>

#include "output/layout.h"
#include "support/diagnoses.h"

namespace whystall::advice {
namespace {

using model::Cause;
using model::Confidence;
using testing::diagnosis;
using testing::finding;

std::vector<Cause> all_causes() {
  std::vector<Cause> all;
  for (int i = 0; i <= static_cast<int>(Cause::kUnknown); i++) all.push_back(static_cast<Cause>(i));
  return all;
}

model::Finding with_confidence(Cause cause, model::DurationNs ns, Confidence confidence) {
  auto f = finding(cause, ns, "x");
  f.confidence = confidence;
  f.by_confidence = {};
  f.by_confidence[static_cast<std::size_t>(confidence)] = ns;
  return f;
}

TEST(Advice, EveryCauseHasASentence) {
  std::set<std::string_view> sentences;
  for (const Cause cause : all_causes()) {
    EXPECT_TRUE(meaning(cause).ends_with('.')) << cause_name(cause);
    sentences.insert(meaning(cause));
  }
  EXPECT_EQ(sentences.size(), all_causes().size());
}

TEST(Advice, EveryCauseThatCanBeActedOnSaysWhatToCheckFirst) {
  std::set<std::string> briefs;
  for (const Cause cause : all_causes()) {
    const auto d = diagnosis({with_confidence(cause, 1'000, Confidence::kProven)});
    const auto step = next_step(d, d.findings.front());
    if (cause == Cause::kWaitIdle || cause == Cause::kObserver || cause == Cause::kUnknown) {
      EXPECT_FALSE(step) << cause_name(cause);
      continue;
    }
    ASSERT_TRUE(step) << cause_name(cause);
    EXPECT_LE(output::width(step->brief), kBriefColumns) << step->brief;
    EXPECT_NE(step->sentence.find("heck first"), std::string::npos) << step->sentence;
    EXPECT_TRUE(step->sentence.ends_with('.')) << step->sentence;
    briefs.insert(step->brief);
  }
  EXPECT_GT(briefs.size(), 20u) << "each says something of its own";
}

TEST(Advice, NothingBelowATwentieth) {
  const auto at = [](model::DurationNs ns) {
    const auto d = diagnosis({with_confidence(Cause::kCpuBusy, 1'000 - ns, Confidence::kProven),
                              with_confidence(Cause::kStorageRead, ns, Confidence::kProven)});
    return next_step(d, d.findings.back()).has_value();
  };
  EXPECT_FALSE(at(49));
  EXPECT_TRUE(at(50));
}

TEST(Advice, NothingThatIsOnlyEstimated) {
  for (const Confidence confidence : {Confidence::kProven, Confidence::kLikely}) {
    const auto d = diagnosis({with_confidence(Cause::kStorageRead, 1'000, confidence)});
    EXPECT_TRUE(next_step(d, d.findings.front()));
  }
  for (const Confidence confidence : {Confidence::kEstimated, Confidence::kUnknown}) {
    const auto d = diagnosis({with_confidence(Cause::kStorageRead, 1'000, confidence)});
    EXPECT_FALSE(next_step(d, d.findings.front()));
  }
}

TEST(Advice, WhatIsSureCountsNotTheWhole) {
  auto f = with_confidence(Cause::kStorageRead, 60, Confidence::kProven);
  f.by_confidence = {40, 0, 20, 0};
  const auto d = diagnosis({with_confidence(Cause::kCpuBusy, 940, Confidence::kProven), f});
  EXPECT_FALSE(next_step(d, d.findings.back())) << "40 of 1,000 are sure";
}

TEST(Advice, AReadOfTheLaunchingThreadIsForTheWorkers) {
  auto f = with_confidence(Cause::kStorageRead, 1'000, Confidence::kProven);
  f.object = "/data/1 on nfs4";
  f.evidence.push_back({});
  f.evidence.back().chain.resize(1);
  auto d = diagnosis({f});
  EXPECT_NE(next_step(d, d.findings[0])->brief.find("loader workers"), std::string::npos);
  d.findings[0].evidence.back().chain.resize(2);
  EXPECT_NE(next_step(d, d.findings[0])->brief.find("locally"), std::string::npos);
  d.findings[0].object = "/data/1 on ext4";
  EXPECT_NE(next_step(d, d.findings[0])->sentence.find("page cache"), std::string::npos);
}

TEST(Advice, WhatTheHolderDidMatters) {
  auto f = with_confidence(Cause::kLockUser, 1'000, Confidence::kLikely);
  f.objects[0].id.slept = true;
  auto d = diagnosis({f});
  EXPECT_NE(next_step(d, d.findings[0])->sentence.find("slept"), std::string::npos);
  d.findings[0].objects[0].id.slept = false;
  EXPECT_NE(next_step(d, d.findings[0])->sentence.find("computed"), std::string::npos);
}

}  // namespace
}  // namespace whystall::advice
