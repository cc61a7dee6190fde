// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gaps/gaps.h"
#include "support/recording_builder.h"
#include "timeline/timeline.h"
#include "walk/walk.h"

namespace whystall::testing {

constexpr Tid kMain = 100, kWorker = 101, kThird = 102;
constexpr Pid kOther = 300;

/// "10..12 cpu.busy proven": times in ms.
inline std::string text_of(const model::Leaf& leaf) {
  auto ms = [](TimeNs t) {
    std::string text = std::to_string(t / 1'000'000);
    if (t % 1'000'000) text += "+" + std::to_string(t % 1'000'000) + "ns";
    return text;
  };
  std::string text =
      ms(leaf.at.lo) + ".." + ms(leaf.at.hi) + " " + std::string(cause_name(leaf.cause));
  if (leaf.cause == model::Cause::kUnknown)
    return text + ": " + std::string(reason_text(leaf.object.reason));
  return text + " " + std::string(confidence_name(leaf.confidence));
}

/// Walks a gap of the builder's recording; what holds for every walk is checked here.
class WalkTest : public ::testing::Test {
 protected:
  WalkTest() {
    b.task(kMain, kMain, "main").task(kWorker, kMain, "worker").task(kThird, kMain, "third");
  }

  std::vector<model::Leaf> walk(TimeNs lo, TimeNs hi,
                                model::Confidence start = model::Confidence::kProven) const {
    const auto recording = b.build();
    const timeline::Timeline timeline(recording);
    const gaps::Gap gap{{lo, hi}, kMain, kMain, false, start};
    auto leaves = walk::Walks(recording, timeline).walk(gap);
    TimeNs at = lo;
    for (const model::Leaf& leaf : leaves) {
      EXPECT_EQ(leaf.at.lo, at) << "leaves leave no hole and do not overlap";
      EXPECT_LT(leaf.at.lo, leaf.at.hi);
      EXPECT_GE(leaf.confidence, start) << "the gap's confidence bounds theirs";
      at = leaf.at.hi;
    }
    EXPECT_EQ(at, hi);
    return leaves;
  }

  using Texts = std::vector<std::string>;
  Texts texts(TimeNs lo, TimeNs hi, model::Confidence start = model::Confidence::kProven) const {
    Texts all;
    for (const model::Leaf& leaf : walk(lo, hi, start)) all.push_back(text_of(leaf));
    return all;
  }

  /// The leaf that holds `t`.
  model::Leaf leaf_at(TimeNs t, TimeNs lo, TimeNs hi) const {
    for (const model::Leaf& leaf : walk(lo, hi)) {
      if (leaf.at.lo <= t && t < leaf.at.hi) return leaf;
    }
    ADD_FAILURE() << "no leaf holds " << t;
    return {};
  }

  static std::vector<Tid> tids(const model::Leaf& leaf) {
    std::vector<Tid> all;
    for (const model::Hop& hop : leaf.chain) all.push_back(hop.tid);
    return all;
  }

  RecordingBuilder b;
};

}  // namespace whystall::testing
