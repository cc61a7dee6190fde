// SPDX-License-Identifier: Apache-2.0
#include "gaps/gaps.h"

#include <gtest/gtest.h>

#include <ostream>

#include "support/found_gaps.h"
#include "support/recording_builder.h"

namespace whystall::gaps {
namespace {

using testing::operator""_us;
using testing::operator""_ms;
using model::Confidence;
using model::TimeNs;
using testing::kStream;
using testing::RecordingBuilder;

constexpr model::Tid kMain = 100, kSibling = 101, kOther = 200;
constexpr std::uint64_t kSecond = 0x6000, kEvent = 0xe0, kOtherEvent = 0xe1;
constexpr int kFailed = 700;

struct Shown {
  TimeNs lo, hi;
  Confidence confidence = Confidence::kProven;
  model::Tid tid = kMain;
  bool open = false;
  model::Pid pid = kMain;
  bool operator==(const Shown&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Shown& s) {
  return out << s.lo << ".." << s.hi << " " << confidence_name(s.confidence) << " tid " << s.tid
             << " pid " << s.pid << (s.open ? " open" : "");
}
using Found = std::vector<Shown>;

class FindGaps : public ::testing::Test {
 protected:
  FindGaps() {
    b.task(kMain, kMain, "main").task(kSibling, kMain, "sibling").task(kOther, kOther, "other");
  }
  Found gaps() const {
    Found found;
    for (const Gap& g : testing::find_gaps(b.build()).gaps) {
      found.push_back({g.at.lo, g.at.hi, g.confidence, g.tid, g.open, g.pid});
    }
    return found;
  }
  /// A proof for the whole context, so that what follows is not `likely` for what came before the
  /// attach.
  void start_proven(std::uint64_t stream = kStream) {
    b.sync_context(1_ms, 1_ms, kMain).submit(1_ms, kMain, stream);
  }

  RecordingBuilder b;
};

constexpr auto kLikely = Confidence::kLikely;

TEST_F(FindGaps, AContextSyncProvesTheDeviceEmptyFromItsReturnToTheNextSubmit) {
  b.submit(2_ms, kMain).sync_context(3_ms, 10_ms, kMain).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 30_ms}}));
}

TEST_F(FindGaps, AStreamSyncProvesItWhereNoOtherStreamIsInUse) {
  start_proven();
  b.submit(2_ms, kMain).sync_stream(3_ms, 10_ms, kMain).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 30_ms}}));
}

TEST_F(FindGaps, BeforeAContextWideProofTheyAreLikely) {
  b.submit(2_ms, kMain).sync_stream(3_ms, 10_ms, kMain).submit(20_ms, kMain);
  b.sync_context(21_ms, 30_ms, kMain).submit(40_ms, kMain);
  b.sync_stream(41_ms, 50_ms, kMain).submit(60_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 20_ms, kLikely}, {30_ms, 40_ms}, {50_ms, 60_ms}}));
}

TEST_F(FindGaps, AFailedContextSyncIsNoContextWideProof) {
  b.sync_context(2_ms, 3_ms, kMain, kFailed);
  b.submit(4_ms, kMain).sync_stream(5_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 20_ms, kLikely}}));
}

TEST_F(FindGaps, AFailedSyncProvesNothing) {
  start_proven();
  b.submit(2_ms, kMain).record_event(2_ms, kMain, kEvent);
  b.sync_stream(3_ms, 10_ms, kMain, kStream, kFailed);
  b.sync_event(11_ms, 12_ms, kMain, kEvent, kFailed);
  b.sync_context(13_ms, 14_ms, kMain, kFailed).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
  EXPECT_EQ(testing::find_gaps(b.build()).evidence.syncs, 4u) << "it counts as a call all the same";
}

TEST_F(FindGaps, ASecondStreamThatIsNotProvedLeavesNoGap) {
  start_proven();
  b.submit(2_ms, kMain)
      .submit(2_ms, kMain, kSecond)
      .sync_stream(3_ms, 10_ms, kMain)
      .submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

TEST_F(FindGaps, TheGapBeginsWhenTheLastOfTheStreamsIsProved) {
  start_proven();
  b.submit(2_ms, kMain).submit(2_ms, kMain, kSecond);
  b.sync_stream(3_ms, 10_ms, kMain).sync_stream(11_ms, 15_ms, kMain, kSecond).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{15_ms, 30_ms}}));
}

TEST_F(FindGaps, ASubmitOnAnyStreamEndsTheGap) {
  start_proven();
  b.submit(2_ms, kMain).sync_stream(3_ms, 10_ms, kMain).submit(20_ms, kMain, kSecond);
  EXPECT_EQ(gaps(), (Found{{10_ms, 20_ms}}));
}

TEST_F(FindGaps, AnEventProvesWhatWasSubmittedBeforeItsRecord) {
  start_proven();
  b.submit(2_ms, kMain)
      .record_event(3_ms, kMain, kEvent)
      .sync_event(4_ms, 10_ms, kMain, kEvent)
      .submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 30_ms}}));
}

TEST_F(FindGaps, AnEventDoesNotProveWhatWasSubmittedAfterItsRecord) {
  start_proven();
  b.submit(2_ms, kMain).record_event(3_ms, kMain, kEvent).submit(4_ms, kMain);
  b.sync_event(5_ms, 10_ms, kMain, kEvent).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

TEST_F(FindGaps, AnEventProvesNothingOfAnotherStream) {
  start_proven();
  b.submit(2_ms, kMain, kSecond).submit(2_ms, kMain).record_event(3_ms, kMain, kEvent, kSecond);
  b.sync_event(4_ms, 10_ms, kMain, kEvent).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

TEST_F(FindGaps, AnEventThatWasNeverRecordedProvesNothing) {
  start_proven();
  b.submit(2_ms, kMain)
      .record_event(3_ms, kMain, kOtherEvent)
      .sync_event(4_ms, 10_ms, kMain, kEvent);
  b.submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

// cuEventSynchronize waits for the record that was the last one when it was called.
TEST_F(FindGaps, AnEventRecordedAgainDuringTheSyncProvesOnlyItsFirstRecord) {
  start_proven();
  b.submit(2_ms, kMain).record_event(3_ms, kMain, kEvent);
  b.submit(5_ms, kSibling).record_event(6_ms, kSibling, kEvent);
  b.sync_event(4_ms, 10_ms, kMain, kEvent).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{}) << "the submit at 5 ms is not proved done";
}

TEST_F(FindGaps, ASubmitOnAnUnknownStreamNeedsAContextSync) {
  start_proven();
  b.submit(2_ms, kMain, WST_STREAM_UNKNOWN).submit(2_ms, kMain).sync_stream(3_ms, 10_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
  b.sync_context(11_ms, 15_ms, kMain).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{15_ms, 30_ms}}));
}

TEST_F(FindGaps, ASyncOfAnUnknownStreamProvesNothingOfUnknownStreams) {
  start_proven();
  b.submit(2_ms, kMain, WST_STREAM_UNKNOWN)
      .sync_stream(3_ms, 10_ms, kMain, WST_STREAM_UNKNOWN)
      .submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{}) << "the two need not be the same stream";
}

TEST_F(FindGaps, AnEventOfAnUnknownStreamProvesNothingOfUnknownStreams) {
  start_proven();
  b.submit(2_ms, kMain, WST_STREAM_UNKNOWN).record_event(3_ms, kMain, kEvent, WST_STREAM_UNKNOWN);
  b.sync_event(4_ms, 10_ms, kMain, kEvent).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

TEST_F(FindGaps, ASubmitAfterTheSyncsEntryFromAnotherThreadIsNotProvedByIt) {
  start_proven();
  b.submit(2_ms, kMain).sync_stream(3_ms, 10_ms, kMain).submit(5_ms, kSibling).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

TEST_F(FindGaps, ASubmitDuringAContextSyncIsNotProvedByIt) {
  start_proven();
  b.submit(2_ms, kMain)
      .sync_context(3_ms, 10_ms, kMain)
      .submit(5_ms, kSibling)
      .submit(30_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

TEST_F(FindGaps, PerThreadDefaultStreamsAreOneForEachThread) {
  start_proven(WST_STREAM_PER_THREAD);
  b.submit(2_ms, kMain, WST_STREAM_PER_THREAD).submit(2_ms, kSibling, WST_STREAM_PER_THREAD);
  b.sync_stream(3_ms, 10_ms, kMain, WST_STREAM_PER_THREAD);
  b.sync_stream(11_ms, 15_ms, kSibling, WST_STREAM_PER_THREAD).submit(30_ms, kMain);
  ASSERT_EQ(gaps().size(), 1u);
  EXPECT_EQ(gaps()[0].lo, 15_ms);
}

TEST_F(FindGaps, ACopyToTheHostEndsOneGapAndBeginsTheNext) {
  start_proven();
  b.sync_context(2_ms, 10_ms, kMain).copy_to_host(20_ms, 25_ms, kMain).submit(40_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 20_ms}, {25_ms, 40_ms}}));
}

TEST_F(FindGaps, TheGapNamesTheThreadWhoseSubmitEndedIt) {
  start_proven();
  b.submit(2_ms, kMain).record_event(2_ms, kSibling, kEvent);
  b.sync_context(3_ms, 10_ms, kMain).submit(20_ms, kSibling);
  EXPECT_EQ(gaps(), (Found{{.lo = 10_ms, .hi = 20_ms, .tid = kSibling}}));
}

TEST_F(FindGaps, AGapThatNothingEndedLastsToTheEndOfTheWindow) {
  start_proven();
  b.submit(2_ms, kSibling).sync_context(3_ms, 60_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{.lo = 60_ms,
                            .hi = 100_ms,
                            .confidence = Confidence::kLikely,
                            .tid = kSibling,
                            .open = true}}))
      << "the sibling may still have been inside its submit";
}

TEST_F(FindGaps, ALaterSyncDoesNotBeginTheGapAgain) {
  start_proven();
  b.submit(2_ms, kMain).sync_context(3_ms, 10_ms, kMain).sync_context(20_ms, 21_ms, kMain);
  b.sync_stream(22_ms, 23_ms, kMain).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 30_ms}}));
}

TEST_F(FindGaps, RecordingAnEventEndsNoGap) {
  start_proven();
  b.sync_context(3_ms, 10_ms, kMain).record_event(15_ms, kMain, kEvent).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 30_ms}}));
}

TEST_F(FindGaps, ClipsToTheWindow) {
  b.window(15_ms, 25_ms);
  b.submit(2_ms, kMain).sync_context(3_ms, 10_ms, kMain).submit(20_ms, kMain);
  b.sync_context(21_ms, 22_ms, kMain).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{22_ms, 25_ms}})) << "the first proof was asked for before the window";
}

TEST_F(FindGaps, AProofOfOneContextSaysNothingOfAnother) {
  start_proven();
  b.set_context(1_ms, kMain, 0xa).submit(2_ms, kMain);
  b.set_context(3_ms, kMain, 0xb).sync_context(4_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
  b.sync_context(21_ms, 30_ms, kMain).set_context(31_ms, kMain, 0xa);
  b.sync_context(32_ms, 40_ms, kMain).submit(50_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{.lo = 40_ms, .hi = 50_ms, .confidence = Confidence::kLikely}}));
}

TEST_F(FindGaps, OneContextThatIsSetAgainIsStillOne) {
  b.set_context(1_ms, kMain, 0xa).sync_context(1_ms + 1_us, 1_ms + 2_us, kMain);
  b.submit(2_ms, kMain).set_context(3_ms, kMain, 0xa);
  b.sync_context(4_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{1_ms + 2_us, 2_ms}, {10_ms, 20_ms}}));
}

TEST_F(FindGaps, TheContextBeforeTheFirstOneThatIsToldIsLikelyToBeTheSame) {
  b.submit(2_ms, kMain).set_context(3_ms, kMain, 0xa);
  b.sync_context(4_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 20_ms, kLikely}}));
  b.raw().meta.nvml.devices[0] = {};
  EXPECT_EQ(gaps(), (Found{{10_ms, 20_ms}})) << "the host has one device only";
}

TEST_F(FindGaps, ASiblingThatCalledAgainBeforeTheProofHadLeftItsSubmit) {
  start_proven();
  b.submit(2_ms, kSibling).record_event(3_ms, kSibling, kEvent);
  b.sync_context(4_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 20_ms}}));
}

TEST_F(FindGaps, LeavesOutWhatLiesOutsideTheWindow) {
  b.window(50_ms, 60_ms);
  b.submit(2_ms, kMain).sync_context(3_ms, 10_ms, kMain).submit(20_ms, kMain);
  b.sync_context(61_ms, 70_ms, kMain).submit(80_ms, kMain).sync_context(81_ms, 90_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

TEST_F(FindGaps, CallsOfAnotherProcessDoNotMix) {
  b.submit(2_ms, kMain).submit(2_ms, kOther);
  b.sync_context(3_ms, 10_ms, kMain).submit(15_ms, kOther).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 30_ms}})) << "neither ended nor hidden by the other's submits";
}

TEST_F(FindGaps, EachProcessHasItsOwnGaps) {
  b.submit(2_ms, kMain).sync_context(3_ms, 10_ms, kMain).submit(30_ms, kMain);
  b.submit(2_ms, kOther).sync_context(3_ms, 20_ms, kOther).submit(40_ms, kOther);
  EXPECT_EQ(gaps(),
            (Found{{10_ms, 30_ms}, {.lo = 20_ms, .hi = 40_ms, .tid = kOther, .pid = kOther}}));
}

TEST_F(FindGaps, LostCallsMayHaveSubmittedWorkInAGap) {
  start_proven();
  b.submit(2_ms, kMain).sync_context(3_ms, 10_ms, kMain).submit(30_ms, kMain);
  b.loss(1, WST_LOST_API, 15_ms, 16_ms);
  EXPECT_EQ(gaps(), (Found{{.lo = 10_ms, .hi = 15_ms, .open = true}}));
}

TEST_F(FindGaps, AfterLostCallsOnlyAContextWideProofCounts) {
  start_proven();
  b.loss(1, WST_LOST_API, 5_ms, 6_ms);
  b.submit(2_ms, kMain).sync_stream(7_ms, 10_ms, kMain).submit(20_ms, kMain);
  b.sync_context(21_ms, 30_ms, kMain).submit(40_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{30_ms, 40_ms}}));
}

TEST_F(FindGaps, AContextSyncAskedForBeforeTheLastLostCallIsNoProof) {
  start_proven();
  b.loss(1, WST_LOST_API, 5_ms, 6_ms);
  b.submit(2_ms, kMain).sync_context(5_ms + 1_us, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(gaps(), Found{});
}

TEST_F(FindGaps, LostRecordsOfOtherKindsDoNotMatter) {
  start_proven();
  b.loss(1, WST_LOST_WAIT, 15_ms, 16_ms).loss(1, WST_LOST_STORAGE, 15_ms, 16_ms);
  b.submit(2_ms, kMain).sync_context(3_ms, 10_ms, kMain).submit(30_ms, kMain);
  EXPECT_EQ(gaps(), (Found{{10_ms, 30_ms}}));
}

TEST_F(FindGaps, WithoutCallsThereIsNone) {
  EXPECT_EQ(gaps(), Found{});
  b.submit(2_ms, kMain).submit(50_ms, kMain);
  EXPECT_EQ(gaps(), Found{}) << "submits alone prove nothing";
  EXPECT_EQ(testing::find_gaps(b.build()).evidence.submits, 2u);
}

}  // namespace
}  // namespace whystall::gaps
