// SPDX-License-Identifier: Apache-2.0
// Processes of one device put together, and the second views of its idle time.
#include <gtest/gtest.h>

#include "gaps/gaps.h"
#include "ledger/ledger.h"
#include "support/found_gaps.h"
#include "support/recording_builder.h"

namespace whystall {
namespace {

using testing::operator""_us;
using testing::operator""_ms;
using model::Cause;
using testing::RecordingBuilder;

constexpr model::Tid kMain = 100, kOther = 200;

class Devices : public ::testing::Test {
 protected:
  Devices() { b.task(kMain, kMain, "main").task(kOther, kOther, "other"); }

  void device(std::uint32_t index) {
    model::Nvml::Device device;
    device.pci_bus_id = "0000:65:00." + std::to_string(index);
    b.raw().meta.nvml.devices[index] = device;
  }
  void seen_on(std::uint32_t index, model::Pid pid) {
    b.raw().meta.nvml.processes[{index, pid}] = {1_ms, 100_ms};
  }
  void main_is_starved(model::TimeNs lo, model::TimeNs hi) { b.proven_gap(lo, hi, kMain); }
  void other_is_starved(model::TimeNs lo, model::TimeNs hi) { b.proven_gap(lo, hi, kOther); }

  std::vector<gaps::Device> devices() const {
    const auto recording = b.build();
    const timeline::Timeline timeline(recording);
    return gaps::find_gaps(recording, evidence::find_evidence(recording, {recording, timeline}));
  }

  RecordingBuilder b;
};

TEST_F(Devices, OfTheOnlyOneAllProcessesAre) {
  device(0);
  main_is_starved(10_ms, 30_ms);
  other_is_starved(20_ms, 40_ms);
  const auto found = devices();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].index, 0);
  EXPECT_EQ(found[0].pids, (std::vector<model::Pid>{kMain, kOther}));
  ASSERT_EQ(found[0].gaps.size(), 1u);
  EXPECT_EQ(found[0].gaps[0].at.lo, 20_ms);
  EXPECT_EQ(found[0].gaps[0].at.hi, 30_ms);
  EXPECT_EQ(found[0].gaps[0].tid, kMain) << "whose submit ended it";
  EXPECT_EQ(found[0].starved_ns, 10_ms);
}

TEST_F(Devices, WithSeveralAProcessIsOfTheOneOnWhichItWasSeen) {
  device(0);
  device(1);
  seen_on(0, kMain);
  seen_on(1, kOther);
  main_is_starved(10_ms, 30_ms);
  other_is_starved(20_ms, 40_ms);
  const auto found = devices();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].starved_ns, 20_ms);
  EXPECT_EQ(found[1].starved_ns, 20_ms);
}

TEST_F(Devices, OfAProcessOnTwoOfThemItIsNotToldWhich) {
  device(0);
  device(1);
  seen_on(0, kMain);
  seen_on(1, kMain);
  seen_on(0, kOther);
  main_is_starved(10_ms, 30_ms);
  other_is_starved(20_ms, 40_ms);
  const auto found = devices();
  ASSERT_EQ(found.size(), 2u) << "each counts for itself";
  EXPECT_EQ(found[0].index, -1);
  EXPECT_EQ(found[1].index, 0);
}

TEST_F(Devices, StatesOfADeviceSumToTheWindow) {
  device(0);
  main_is_starved(10_ms, 30_ms);
  b.query_stream(35_ms, kMain, false);
  other_is_starved(20_ms, 40_ms);
  const auto found = devices();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].starved_ns + found[0].had_work_ns + found[0].not_known_ns, 99_ms);
  EXPECT_EQ(found[0].had_work_ns, 5_ms) << "from the submit at 30 ms to the query";
}

TEST_F(Devices, TheReportTellsWhoElseUsesIt) {
  device(0);
  seen_on(0, kMain);
  seen_on(0, 999);
  main_is_starved(10_ms, 30_ms);
  const model::Diagnosis d = ledger::diagnose(b.build());
  ASSERT_NE(d.the_device(), nullptr);
  EXPECT_EQ(d.the_device()->pci_bus_id, "0000:65:00.0");
  EXPECT_EQ(d.the_device()->others, (std::vector<model::Pid>{999}));
}

TEST_F(Devices, IdleTimeAfterASynchroniseIsItsExposure) {
  b.raw().meta.api_symbols = {"cuCtxSynchronize"};
  main_is_starved(10_ms, 30_ms);
  main_is_starved(40_ms, 50_ms);
  const model::Diagnosis d = ledger::diagnose(b.build());
  ASSERT_EQ(d.exposures.size(), 1u);
  EXPECT_EQ(d.exposures[0].call, "cuCtxSynchronize");
  EXPECT_EQ(d.exposures[0].ns, 30_ms);
  EXPECT_EQ(d.exposures[0].gaps, 2u);
}

TEST_F(Devices, LongCallsAreToldByTheirOwnTime) {
  b.raw().meta.api_symbols = {"cuMemcpyHtoDAsync_v2"};
  b.long_call(WST_API_COPY, 5_ms, 7_ms, kMain, 1'000)
      .long_call(WST_API_COPY, 8_ms, 9_ms, kMain, 500);
  const model::Diagnosis d = ledger::diagnose(b.build());
  ASSERT_EQ(d.long_calls.size(), 1u);
  EXPECT_EQ(d.long_calls[0].call, "cuMemcpyHtoDAsync");
  EXPECT_EQ(d.long_calls[0].ns, 3_ms);
  EXPECT_EQ(d.long_calls[0].longest_ns, 2_ms);
  EXPECT_EQ(d.long_calls[0].bytes, 1'500u);
  EXPECT_TRUE(d.long_calls[0].copies);
}

TEST_F(Devices, SilenceOfWhatIsNotKnownIsWalkedAndNeverIdle) {
  b.submit(10_ms, kMain).submit(50_ms, kMain).submit(90_ms, kMain);
  b.blocked(kMain, 9_ms, 12_ms, 49_ms, 49_ms).sleeping().woken_in(WST_CTX_TIMER);
  const model::Diagnosis d = ledger::diagnose(b.build());
  EXPECT_EQ(d.starved_ns, 0);
  EXPECT_EQ(d.not_known_ns, d.window_ns);
  EXPECT_EQ(d.silent_ns, 99_ms) << "before the first submit, too";
  model::DurationNs sum = 0, slept = 0;
  for (const model::Finding& f : d.silence_findings) {
    sum += f.ns;
    if (f.cause == Cause::kWaitSleep) slept += f.ns;
  }
  EXPECT_EQ(sum, d.silent_ns);
  EXPECT_EQ(slept, 37_ms);
}

}  // namespace
}  // namespace whystall
