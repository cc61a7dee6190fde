// SPDX-License-Identifier: Apache-2.0
#include "evidence/evidence.h"
#include "evidence/pending.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "support/recording_builder.h"

namespace whystall::evidence {
namespace {

using testing::operator""_us;
using testing::operator""_ms;
using model::Confidence;
using model::TimeNs;
using testing::kPollCall;
using testing::kStream;
using testing::RecordingBuilder;

constexpr model::Tid kMain = 100, kSibling = 101, kThird = 102;
constexpr std::uint64_t kSecond = 0x6000, kEvent = 0xe0, kLegacy = WST_STREAM_LEGACY,
                        kPerThread = WST_STREAM_PER_THREAD, kNonBlocking = 1;

struct Shown {
  TimeNs lo, hi;
  State state = State::kStarved;
  Confidence confidence = Confidence::kProven;
  bool operator==(const Shown&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Shown& s) {
  return out << s.lo << ".." << s.hi << (s.state == State::kStarved ? " starved " : " had work ")
             << (s.state == State::kStarved ? confidence_name(s.confidence) : "");
}
using Found = std::vector<Shown>;

constexpr auto kLikely = Confidence::kLikely;
Shown had_work(TimeNs lo, TimeNs hi) {
  return {lo, hi, State::kHadWork};
}

class FindEvidence : public ::testing::Test {
 protected:
  FindEvidence() {
    b.task(kMain, kMain, "main").task(kSibling, kMain, "sibling").task(kThird, kMain, "third");
  }
  Evidence evidence() const {
    const auto recording = b.build();
    const timeline::Timeline timeline(recording);
    return find_evidence(recording, {recording, timeline});
  }
  /// What is known of the context with this place.
  Found known(std::size_t context = 0) const {
    Found found;
    const Evidence all = evidence();
    if (context >= all.contexts.size()) return found;
    for (const Stretch& s : all.contexts[context].stretches) {
      if (s.state != State::kNotKnown) found.push_back({s.at.lo, s.at.hi, s.state, s.confidence});
    }
    return found;
  }
  Found starved() const {
    Found found = known();
    std::erase_if(found, [](const Shown& s) { return s.state != State::kStarved; });
    return found;
  }
  Found pending() const {
    Found found = known();
    std::erase_if(found, [](const Shown& s) { return s.state != State::kHadWork; });
    return found;
  }
  /// All that has been submitted so far is proved done, and every thread has made a call.
  void start() {
    for (const model::Tid tid : {kSibling, kThird})
      if (b.raw().tasks.contains(tid)) b.record_event(1_ms, tid, 0xff, kLegacy);
    b.sync_context(1_ms + 1, 1_ms + 2, kMain);
  }
  void alone() {
    b.raw().tasks.erase(kSibling);
    b.raw().tasks.erase(kThird);
    start();
  }
  RecordingBuilder b;
};

TEST_F(FindEvidence, AQueryThatFindsAllDoneProvesItFromItsReturn) {
  alone();
  b.submit(2_ms, kMain).query_stream(10_ms, kMain, true).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}, {10_ms + 1_us, 20_ms}}));
}

TEST_F(FindEvidence, AQueryOfAnEventProvesWhatWasSubmittedBeforeItsRecord) {
  alone();
  b.submit(2_ms, kMain).record_event(3_ms, kMain, kEvent);
  b.query_event(10_ms, kMain, kEvent, true).submit(20_ms, kMain);
  b.submit(21_ms, kMain).query_event(22_ms, kMain, kEvent, true);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}, {10_ms + 1_us, 20_ms}}));
}

TEST_F(FindEvidence, AQueryThatIsRepeatedProvesItTheFirstTime) {
  alone();
  b.submit(2_ms, kMain).query_stream(10_ms, kMain, true);
  b.raw().api.back().last_ns = b.raw().api.back().entry_ns;
  b.query_stream(10_ms, kMain, true).raw().api.back().h.ts = 15'000'000;
  b.raw().api.back().last_ns = 14'999'000;
  b.submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}, {10_ms + 1_us, 20_ms}}));
  EXPECT_EQ(evidence().queries, 2u);
}

TEST_F(FindEvidence, AnEventThatAnotherStreamWaitsForIsCoveredByThatStream) {
  alone();
  b.submit(2_ms, kMain, kSecond).record_event(3_ms, kMain, kEvent, kSecond);
  b.wait_event(4_ms, kMain, kEvent, kStream).submit(5_ms, kMain);
  b.sync_stream(6_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}, {10_ms, 20_ms}}));
}

TEST_F(FindEvidence, AStreamWaitsForTheEventAsItWasWhenItWasAsked) {
  alone();
  b.submit(2_ms, kMain, kSecond).record_event(3_ms, kMain, kEvent, kSecond);
  b.wait_event(4_ms, kMain, kEvent, kStream);
  b.submit(5_ms, kMain, kSecond).record_event(6_ms, kMain, kEvent, kSecond);
  b.sync_stream(7_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}})) << "the second submit is not covered";
}

TEST_F(FindEvidence, AnEventThatIsRecordedAgainProvesTheLaterRecord) {
  alone();
  b.submit(2_ms, kMain).record_event(3_ms, kMain, kEvent);
  b.submit(4_ms, kMain).record_event(5_ms, kMain, kEvent);
  b.query_event(10_ms, kMain, kEvent, true).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}, {10_ms + 1_us, 20_ms}}));
}

TEST_F(FindEvidence, ADestroyedEventLeavesNothingToTheNextOneOfItsHandle) {
  alone();
  b.submit(2_ms, kMain).record_event(3_ms, kMain, kEvent).destroy_event(4_ms, kMain, kEvent);
  b.query_event(10_ms, kMain, kEvent, true).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}}));
}

TEST_F(FindEvidence, ADestroyedStreamLeavesItsWorkButNotItsHandle) {
  alone();
  b.submit(2_ms, kMain).destroy_stream(3_ms, kMain, kStream);
  b.create_stream(4_ms, kMain, kStream, kNonBlocking).submit(5_ms, kMain);
  b.sync_stream(6_ms, 10_ms, kMain).submit(20_ms, kMain).sync_context(21_ms, 30_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}, {30_ms, 100_ms}}));
}

TEST_F(FindEvidence, TheLegacyStreamCoversBlockingStreamsThatItWaitedFor) {
  alone();
  b.create_stream(2_ms, kMain, kStream, 0).submit(3_ms, kMain).submit(4_ms, kMain, kLegacy);
  b.sync_stream(5_ms, 10_ms, kMain, kLegacy).submit(20_ms, kMain);
  EXPECT_EQ(starved().back(), (Shown{10_ms, 20_ms}));
}

TEST_F(FindEvidence, TheLegacyStreamCoversNoBlockingStreamFromBeforeItsLastSubmitOn) {
  alone();
  b.create_stream(2_ms, kMain, kStream, 0).submit(3_ms, kMain, kLegacy).submit(4_ms, kMain);
  b.sync_stream(5_ms, 10_ms, kMain, kLegacy).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 3_ms}}));
}

TEST_F(FindEvidence, TheLegacyStreamCoversNoStreamThatDoesNotBlock) {
  alone();
  b.create_stream(2_ms, kMain, kStream, kNonBlocking);
  b.submit(3_ms, kMain).submit(4_ms, kMain, kLegacy);
  b.sync_stream(5_ms, 10_ms, kMain, kLegacy).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 3_ms}}));
}

TEST_F(FindEvidence, EachThreadHasItsOwnDefaultStream) {
  start();
  b.submit(2_ms, kSibling, kPerThread).record_event(3_ms, kSibling, kEvent, kLegacy);
  b.submit(4_ms, kMain, kPerThread).sync_stream(5_ms, 10_ms, kMain, kPerThread);
  b.submit(20_ms, kMain, kPerThread);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}})) << "the sibling's is not covered";
}

// Calls take effect after their entries.

TEST_F(FindEvidence, ASubmitOfAnotherThreadThatMayBeOnItsWayIsNotCovered) {
  start();
  b.submit(2_ms, kSibling).sync_context(2_ms + 5_us, 2_ms + 9_us, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}}));
}

TEST_F(FindEvidence, ASubmitOfAThreadThatHadNoCpuMayStillBeOnItsWay) {
  start();
  b.submit(2_ms, kSibling);
  b.runnable(kSibling, 1_ms, 2_ms + 1_us, 8_ms);
  b.sync_context(4_ms, 5_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}}));
}

TEST_F(FindEvidence, ACallThatHadBegunBeforeTheAttachMayBeOnItsWay) {
  b.sync_context(1_ms + 5_us, 1_ms + 9_us, kMain).record_event(3_ms, kSibling, kEvent);
  b.submit(4_ms, kMain);
  EXPECT_EQ(starved(), Found{}) << "nothing is known of the sibling";
  b.sync_context(5_ms, 6_ms, kMain).submit(7_ms, kMain);
  EXPECT_EQ(starved(), (Found{{6_ms, 7_ms}}));
}

TEST_F(FindEvidence, AnEventThatIsRecordedAgainWhileItIsWaitedForProvesNeitherRecord) {
  start();
  b.submit(2_ms, kMain).record_event(3_ms, kMain, kEvent);
  b.record_event(4_ms + 1_us, kSibling, kEvent, kSecond);
  b.sync_event(4_ms, 4_ms + 10_us, kMain, kEvent).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}}));
}

TEST_F(FindEvidence, AnEventThatIsRecordedAgainWhileAStreamIsMadeToWaitIsNotCoveredByIt) {
  start();
  b.submit(2_ms, kMain, kSecond).record_event(3_ms, kMain, kEvent, kSecond);
  b.wait_event(4_ms, kMain, kEvent, kStream);
  b.record_event(4_ms + 1_us, kSibling, kEvent, kLegacy);
  b.sync_stream(5_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}}));
}

// What proves that something is not done.

TEST_F(FindEvidence, AQueryThatFindsWorkProvesItPendingSinceItsSubmit) {
  alone();
  b.submit(2_ms, kMain).query_stream(10_ms, kMain, false);
  EXPECT_EQ(pending(), (Found{had_work(2_ms, 10_ms)}));
}

TEST_F(FindEvidence, AQueryMayHaveFoundWhatAnotherThreadSubmittedMeanwhile) {
  start();
  b.submit(2_ms, kMain).submit(10_ms + 500, kSibling).query_stream(10_ms, kMain, false);
  EXPECT_EQ(pending(), Found{});
}

TEST_F(FindEvidence, ASynchroniseMayHaveWaitedForWhatAnotherThreadSubmittedMeanwhile) {
  start();
  b.submit(2_ms, kMain).submit(10_ms + 5_us, kSibling).sync_context(10_ms, 20_ms, kMain);
  b.running(kMain, 1_ms, 100_ms);
  EXPECT_EQ(pending(), (Found{had_work(10_ms + 5_us, 20_ms - kReturnNs)}));
}

TEST_F(FindEvidence, AnEventMayHaveBeenRecordedLaterThanItsCallBegan) {
  start();
  b.submit(2_ms, kMain).record_event(10_ms, kMain, kEvent).submit(10_ms + 5_us, kSibling);
  b.query_event(20_ms, kMain, kEvent, false);
  EXPECT_EQ(pending(), (Found{had_work(10_ms + 5_us, 20_ms)}));
}

TEST_F(FindEvidence, AQueryMayHaveFoundWhatWasLost) {
  alone();
  b.submit(2_ms, kMain).loss(1, WST_LOST_API, 5_ms, 6_ms).query_stream(30_ms, kMain, false);
  ASSERT_EQ(pending().size(), 1u);
  EXPECT_GE(pending().front().lo, 16_ms) << "a lost run of submits lasts up to 10 ms";
}

TEST_F(FindEvidence, AQueryThatFindsWorkFromBeforeTheAttachEndsWhatWasLikely) {
  b.submit(2_ms, kMain).sync_stream(3_ms, 10_ms, kMain).query_stream(20_ms, kMain, false, kSecond);
  EXPECT_EQ(starved(), Found{});
  EXPECT_EQ(pending(), (Found{had_work(1_ms, 20_ms)})) << "it was pending all the time";
}

TEST_F(FindEvidence, AStreamThatWasThereAtTheAttachHasWorkUntilItIsProvedDone) {
  b.record_event(2_ms, kMain, kEvent, kSecond);
  b.submit(2_ms, kMain).sync_stream(3_ms, 10_ms, kMain).submit(20_ms, kMain);
  EXPECT_EQ(starved(), Found{});
}

TEST_F(FindEvidence, ABlockingStreamMayWaitForWhatTheLegacyStreamWaitsFor) {
  start();
  b.create_stream(2_ms, kMain, kStream, 0).submit(3_ms, kMain);
  b.submit(4_ms, kMain, kLegacy).submit(10_ms, kMain, kPerThread);
  b.wait_event(11_ms, kMain, kEvent, kLegacy).query_stream(20_ms, kMain, false);
  EXPECT_EQ(pending(), (Found{had_work(10_ms, 20_ms)}));
}

// How a synchronise returned.

TEST_F(FindEvidence, AThreadThatWasPreemptedMayHaveLeftTheDeviceStarved) {
  alone();
  b.submit(2_ms, kMain).sync_context(3_ms, 30_ms, kMain).submit(40_ms, kMain);
  b.runnable(kMain, 1_ms, 10_ms, 30_ms - 5_us);
  b.running(kMain, 30_ms - 5_us, 100_ms);
  EXPECT_EQ(pending(), (Found{had_work(2_ms, 10_ms - (kReturnNs - 5_us))}));
  const auto late = evidence().contexts.front().possibly_starved;
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late.front().lo, 10_ms);
  EXPECT_EQ(late.front().hi, 30_ms);
}

TEST_F(FindEvidence, AThreadThatSleptForTheDeviceWasWokenWhenItWasDone) {
  alone();
  b.submit(2_ms, kMain).sync_context(3_ms, 30_ms, kMain);
  b.blocked(kMain, 1_ms, 4_ms, 29_ms, 30_ms - 1_us).in_call(kPollCall).woken_in(WST_CTX_HARDIRQ);
  b.running(kMain, 30_ms - 1_us, 100_ms);
  EXPECT_EQ(pending(), (Found{had_work(2_ms, 29_ms - kReturnNs)}));
}

TEST_F(FindEvidence, AThreadThatATaskWokeMayHaveBeenWokenLate) {
  alone();
  b.submit(2_ms, kMain).sync_context(3_ms, 30_ms, kMain);
  b.blocked(kMain, 1_ms, 4_ms, 30_ms - 1_us).in_call(kPollCall).woken_by(kThird, kMain);
  b.running(kMain, 30_ms - 1_us, 100_ms);
  EXPECT_EQ(pending(), (Found{had_work(2_ms, 4_ms)}));
}

TEST_F(FindEvidence, AWaitForALockOfTheDriverTellsNothingOfTheDevice) {
  alone();
  b.submit(2_ms, kMain).sync_context(20_ms, 30_ms, kMain);
  b.blocked(kMain, 1_ms, 20_ms + 2_us, 30_ms - 5_us).for_lock(0x1000).woken_by(kThird, kMain);
  b.running(kMain, 30_ms - 5_us, 100_ms);
  EXPECT_EQ(pending(), Found{});
}

TEST_F(FindEvidence, WhereItIsNotKnownWhatTheHypervisorTookSpinningTellsNothing) {
  alone();
  b.submit(2_ms, kMain).sync_context(20_ms, 30_ms, kMain).running(kMain, 1_ms, 100_ms);
  EXPECT_EQ(pending(), (Found{had_work(2_ms, 30_ms - kReturnNs)}));
  b.raw().api.back().stolen_ns = ~std::uint64_t{0};
  EXPECT_EQ(pending(), Found{});
}

TEST_F(FindEvidence, ACallThatHasNotReturnedIsTakenAsTheLastDumpShowsIt) {
  b.window(1_ms, 1000_ms);
  alone();
  b.submit(2_ms, kMain).sync_context(3_ms, 300_ms, kMain, WST_API_OPEN);
  b.sync_context(3_ms, 1000_ms, kMain, WST_API_OPEN).running(kMain, 1_ms, 1000_ms);
  ASSERT_EQ(pending().size(), 1u);
  EXPECT_GE(pending().front().hi, 890_ms);
}

TEST_F(FindEvidence, ALongPauseBetweenSubmitsIsASilence) {
  alone();
  b.submit(2_ms, kMain).submit(2_ms + 10_us, kMain).submit(10_ms, kMain);
  const auto silences = evidence().contexts.front().silences;
  ASSERT_EQ(silences.size(), 3u) << "from the attach, between, and to the end";
  EXPECT_EQ(silences[1].at.lo, 2_ms + 10_us);
  EXPECT_EQ(silences[1].at.hi, 10_ms);
  EXPECT_FALSE(silences[1].open);
  EXPECT_TRUE(silences[2].open);
}

class TwoDevices : public FindEvidence {
 protected:
  TwoDevices() {
    b.raw().tasks.erase(kThird);
    for (std::uint64_t device : {0, 1}) {
      b.long_call(WST_API_CONTEXT_DEVICE, 1_ms, 1_ms + 1_us, kMain, device);
      b.raw().api.back().event = 0xc0 + device;
    }
    b.set_context(1_ms + 2_us, kMain, 0xc0).set_context(1_ms + 2_us, kSibling, 0xc1);
    b.sync_context(1_ms + 5_us, 1_ms + 6_us, kMain);
    b.sync_context(1_ms + 5_us, 1_ms + 6_us, kSibling);
  }
};

TEST_F(TwoDevices, AContextOfEachIsToldApart) {
  b.submit(2_ms, kMain).submit(2_ms, kSibling, kSecond);
  b.sync_context(3_ms, 10_ms, kMain).submit(20_ms, kMain);
  const Evidence found = evidence();
  ASSERT_EQ(found.contexts.size(), 2u);
  EXPECT_EQ(found.contexts[1].device, 1);
  const Shown in_between{10_ms, 20_ms, State::kStarved, kLikely};
  const Found first = known(0), second = known(1);
  EXPECT_NE(std::find(first.begin(), first.end(), in_between), first.end());
  EXPECT_EQ(std::find(second.begin(), second.end(), in_between), second.end());
}

TEST_F(TwoDevices, AStreamThatAnotherContextAsksAboutFirstIsStillItsOwn) {
  b.query_stream(2_ms, kMain, true, kSecond).submit(3_ms, kSibling, kSecond);
  const Found second = known(1);
  ASSERT_FALSE(second.empty());
  EXPECT_EQ(second.back().hi, 3_ms) << "its submit ended the second device's gap";
}

TEST_F(FindEvidence, ASubmitThatWasLostShowsInTheThreadsCount) {
  alone();
  b.submit(2_ms, kMain).raw().api.back().submits = 1;
  for (wst_api& call : b.raw().api) call.count = 1;
  b.sync_context(3_ms, 10_ms, kMain).raw().api.back().submits = 1;
  b.raw().api.back().count = 1;
  b.submit(20_ms, kMain).raw().api.back().submits = 3;
  b.raw().api.back().count = 1;
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}})) << "one may have come at any time after 10 ms";
}

TEST_F(FindEvidence, ALostRunOfSubmitsMayHaveGoneOnAfterTheLoss) {
  alone();
  b.submit(2_ms, kMain).loss(1, WST_LOST_API, 5_ms, 5_ms);
  b.sync_context(6_ms, 7_ms, kMain).submit(8_ms, kMain);
  b.sync_context(20_ms, 30_ms, kMain).submit(40_ms, kMain);
  EXPECT_EQ(starved(), (Found{{1_ms + 2, 2_ms}, {30_ms, 40_ms}}));
}

}  // namespace
}  // namespace whystall::evidence
