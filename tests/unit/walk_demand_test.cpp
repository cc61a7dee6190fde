// SPDX-License-Identifier: Apache-2.0
// Waiting for somebody to ask for work is no stall, also when the wait is not over.
#include "support/walked.h"

namespace whystall::walk {
namespace {

using namespace testing;

constexpr Tid kClient = 400;  // not watched, and not recorded
constexpr std::uint64_t kSocket = 77;

class WalkDemand : public WalkTest {
 protected:
  WalkDemand() {
    b.listens(kMain, 70, 8000);
    b.task(kOther, kOther, "server");
  }
  /// Asked from outside until `until`, and again until the end.
  WaitRef first(Tid tid, TimeNs until) { return b.blocked(tid, 2_ms, 3_ms, until); }
  WaitRef still(Tid tid, TimeNs since) {
    return b.blocked(tid, since - 1_ms, since, 100_ms).flag(WST_WAIT_OPEN);
  }
};

TEST_F(WalkDemand, ARequestFromOutsideWasAwaited) {
  first(kMain, 20_ms).on_epoll().woken_by(kClient, kClient, WST_CTX_LOCALNET);
  EXPECT_EQ(texts(3_ms, 20_ms), (Texts{"3..20 wait.idle likely"}));
}

TEST_F(WalkDemand, AnAnswerOfAWatchedProcessWasNot) {
  b.running(kOther, 2_ms, 60_ms);
  first(kMain, 20_ms).on_epoll().woken_by(kOther, kOther, WST_CTX_LOCALNET);
  EXPECT_EQ(texts(3_ms, 20_ms), (Texts{"3..20 cpu.busy likely"}));
}

TEST_F(WalkDemand, AServersSetOfSocketsIsStillAwaited) {
  first(kMain, 20_ms).on_epoll().woken_by(kOther, kOther);
  still(kMain, 30_ms).on_epoll();
  EXPECT_EQ(texts(30_ms, 99_ms), (Texts{"30..99 wait.idle estimated"}));
}

TEST_F(WalkDemand, TheSetOfAProcessThatDoesNotListenIsNot) {
  b = RecordingBuilder();
  still(kMain, 30_ms).on_epoll();
  EXPECT_EQ(texts(30_ms, 99_ms), (Texts{"30..99 unknown: still blocked at the end"}));
}

TEST_F(WalkDemand, AnAcceptedSocketIsStillAwaited) {
  b.connection(kMain, kSocket, 8000, 40000);
  first(kMain, 20_ms).on_socket(kSocket).woken_by(kClient, kClient, WST_CTX_LOCALNET);
  still(kMain, 30_ms).on_socket(kSocket);
  EXPECT_EQ(texts(30_ms, 99_ms), (Texts{"30..99 wait.idle likely"}));
}

TEST_F(WalkDemand, ASocketThatAWatchedProcessWroteToIsAwaitedFromIt) {
  b.connection(kMain, kSocket, 8000, 40000);
  b.running(kOther, 2_ms, 100_ms);
  first(kMain, 20_ms).on_socket(kSocket).woken_by(kOther, kOther);
  still(kMain, 30_ms).on_socket(kSocket);
  EXPECT_EQ(texts(30_ms, 99_ms), (Texts{"30..99 cpu.busy estimated"}));
}

/// An engine behind a server: it waits for the server, which waits for requests.
TEST_F(WalkDemand, WhoWaitsForAnIdleServerIsIdleToo) {
  b.listens(kOther, 71, 8001);
  first(kMain, 20_ms).on_socket(kSocket).woken_by(kOther, kOther);
  still(kMain, 30_ms).on_socket(kSocket);
  still(kOther, 25_ms).on_epoll();
  EXPECT_EQ(texts(30_ms, 99_ms), (Texts{"30..99 wait.idle estimated"}));
}

TEST_F(WalkDemand, AnotherFileTellsNothing) {
  b.running(kOther, 2_ms, 100_ms);
  first(kMain, 20_ms).on_socket(kSocket).woken_by(kOther, kOther);
  still(kMain, 30_ms).on_socket(kSocket + 1);
  EXPECT_EQ(texts(30_ms, 99_ms), (Texts{"30..99 unknown: still blocked at the end"}));
}

}  // namespace
}  // namespace whystall::walk
