// SPDX-License-Identifier: Apache-2.0
// Threads that work ahead: what made a delivery late, and not only what was left of it in the gap.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "ledger/ledger.h"
#include "lineage/lengths.h"
#include "support/recording_builder.h"

namespace whystall::lineage {
namespace {

using model::Cause;
using model::Confidence;
using model::Diagnosis;
using model::DurationNs;
using testing::operator""_ms;
using testing::operator""_us;
using testing::RecordingBuilder;
using testing::Tid;
using testing::TimeNs;

/// A trainer that synchronises after each step of 20 ms and takes an item of each of its loaders in
/// turn. A loader reads and then decodes, and begins the next item at once while it may.
class Pipeline : public ::testing::Test {
 protected:
  static constexpr Tid kTrainer = 100, kFirstLoader = 200;

  Pipeline() { b.task(kTrainer, kTrainer, "python3"); }

  /// `ahead`: how many items a loader may begin before the trainer takes the first of them; 0: it
  /// is asked for one when the trainer begins to wait.
  void run(int loaders, TimeNs read_ns, TimeNs decode_ns, int items, int ahead = 2) {
    for (int i = 0; i < loaders; i++)
      b.task(kFirstLoader + static_cast<Tid>(i), kFirstLoader + static_cast<Tid>(i), "loader");
    const auto file = b.file(1, "/data/1.tar", "fuse");
    std::map<Tid, TimeNs> free;
    std::vector<TimeNs> taken;
    TimeNs trainer = 10_ms;
    b.window(1_ms, 1'000'000_ms);
    for (int i = 0; i < items; i++) {
      const Tid loader = kFirstLoader + static_cast<Tid>(i % loaders);
      TimeNs begin = std::max(free[loader], 10_ms + i % loaders * kStep / 2);
      const auto place = i - loaders * ahead;
      const TimeNs asked = place == i  ? trainer - 50_us
                           : place < 0 ? 0
                                       : taken[static_cast<std::size_t>(place)];
      const bool waits = asked > begin;
      begin = std::max(begin, asked);
      const TimeNs read = read_ns + (i == slow_item ? slow_read : 0);
      const TimeNs decode = decode_ns + (i == slow_item ? slow_decode : 0);
      const TimeNs decoding = begin + read, ready = decoding + decode;
      if (waits)
        b.blocked(loader, last[loader], free[loader] + 1_us, begin)
            .on_pipe()
            .woken_by(kTrainer, kTrainer);
      const TimeNs ran = waits || !last[loader] ? begin : last[loader];
      b.blocked(loader, ran, begin + 1_us, decoding).reading(file).woken_in(WST_CTX_SOFTIRQ);
      free[loader] = ready;
      last[loader] = decoding;
      if (ready > trainer) {
        b.blocked(kTrainer, trainer, trainer + 1_us, ready).on_pipe().woken_by(loader, loader);
        trainer = ready;
      }
      taken.push_back(trainer);
      // The step: a launch, and the wait for it.
      b.submit(trainer + 1_us, kTrainer);
      b.blocked(kTrainer, trainer, trainer + 2_us, trainer + kStep).woken_in(WST_CTX_HARDIRQ);
      b.sync_context(trainer + 2_us, trainer + kStep, kTrainer);
      trainer += kStep;
    }
    for (const auto& [loader, decoding] : last) b.running(loader, decoding, free[loader] + 1_us);
    b.submit(trainer + 1_us, kTrainer);
    b.running(kTrainer, trainer, trainer + 1_ms);
    b.window(1_ms, trainer + 1_ms);
    d = ledger::diagnose(b.raw());
    EXPECT_EQ(d.conservation_error_ns, 0);
    EXPECT_EQ(sum(d.findings), d.starved_ns + d.micro_gap_ns);
    EXPECT_EQ(sum(d.path_findings), d.lineage_ns > 0 ? d.starved_ns + d.micro_gap_ns : 0);
  }

  static DurationNs sum(const std::vector<model::Finding>& findings) {
    DurationNs ns = 0;
    for (const auto& f : findings) ns += f.ns;
    return ns;
  }
  static double share(const std::vector<model::Finding>& findings, Cause cause) {
    DurationNs ns = 0;
    for (const auto& f : findings) ns += f.cause == cause ? f.ns : 0;
    return static_cast<double>(ns) / static_cast<double>(sum(findings));
  }
  double lineage(Cause cause) const { return share(d.findings, cause); }
  double path(Cause cause) const { return share(d.path_findings, cause); }

  static constexpr TimeNs kStep = 20_ms;
  RecordingBuilder b;
  Diagnosis d;
  std::map<Tid, TimeNs> last;  // of each loader: since when it has been on the CPU
  int slow_item = -1;
  TimeNs slow_read = 0, slow_decode = 0;
};

// 4 loaders of 100 ms an item feed a step of 20 ms with one in 25 ms: removing either stage would
// end the stall, and what they take is what they have of it.
TEST_F(Pipeline, ThatIsTooSlowIsChargedByWhatItsItemsTake) {
  run(4, 60_ms, 40_ms, 80);
  EXPECT_NEAR(lineage(Cause::kStorageRead), 0.60, 0.04);
  EXPECT_NEAR(lineage(Cause::kCpuBusy), 0.40, 0.04);
  EXPECT_LT(path(Cause::kStorageRead), 0.1) << "in the gaps themselves hardly anybody reads";
}

// 19 ms an item for 20 ms a step: nothing is late until one read takes longer.
TEST_F(Pipeline, OneSlowReadHasAllOfWhatItMadeLate) {
  slow_item = 41, slow_read = 300_ms;
  run(4, 46_ms, 30_ms, 80);
  EXPECT_GT(d.lineage_ns, 50_ms);
  EXPECT_GT(lineage(Cause::kStorageRead), 0.95);
}

TEST_F(Pipeline, OneSlowDecodingHasAllOfWhatItMadeLate) {
  slow_item = 41, slow_decode = 300_ms;
  run(4, 46_ms, 30_ms, 80);
  EXPECT_GT(lineage(Cause::kCpuBusy), 0.95);
  EXPECT_LT(lineage(Cause::kStorageRead), 0.05);
}

// What is absorbed by what lies ready is nobody's fault.
TEST_F(Pipeline, ASlowReadThatNobodyWaitedForHasNothing) {
  slow_item = 41, slow_read = 60_ms;
  run(4, 30_ms, 20_ms, 80);
  EXPECT_LT(lineage(Cause::kStorageRead), 0.3) << "only the first items are waited for";
  EXPECT_LT(d.starved_ns, 100_ms);
}

// A thread that is asked when somebody begins to wait does not work ahead.
TEST_F(Pipeline, WhoIsAskedAndAnswersIsChargedAsWalked) {
  run(1, 30_ms, 20_ms, 20, 0);
  EXPECT_EQ(d.lineage_ns, 0);
  EXPECT_TRUE(d.path_findings.empty());
  EXPECT_NEAR(lineage(Cause::kStorageRead), 0.6, 0.01);
}

TEST(Lengths, MedianByTimeIsThatOfTheLongOnesWhereTheyHaveTheTime) {
  Lengths lengths;
  EXPECT_EQ(lengths.median_by_time(), 0);
  for (int i = 0; i < 1000; i++) lengths.add(10_us);
  for (int i = 0; i < 10; i++) lengths.add(40_ms);
  EXPECT_EQ(lengths.median_by_time(), 40_ms);
  EXPECT_EQ(lengths.beyond(30_ms), 100_ms);
  EXPECT_EQ(lengths.beyond(50_ms), 0);
}

TEST(Lengths, ThatNoHostHasSeenAreLeftOut) {
  Lengths lengths;
  for (int i = 0; i < 100; i++) lengths.add(DurationNs{1} << 60);
  EXPECT_EQ(lengths.median_by_time(), DurationNs{1} << 60);
  EXPECT_EQ(lengths.beyond(0), DurationNs{1} << 61);
}

}  // namespace
}  // namespace whystall::lineage
