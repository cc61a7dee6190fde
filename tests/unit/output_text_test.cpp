// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <regex>
#include <sstream>

#include "output/output.h"
#include "support/diagnoses.h"

namespace whystall::output {
namespace {

using model::Cause;
using model::Diagnosis;
using testing::diagnosis;
using testing::finding;
using testing::hostile_names;

constexpr Cause kCauses[] = {Cause::kStorageRead, Cause::kLockUser, Cause::kCpuContention,
                             Cause::kCpuWaiting,  Cause::kCpuBusy,  Cause::kIpcWorker,
                             Cause::kWaitSleep,   Cause::kGpuLaunch};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

long columns_of(const std::string& line) {
  return std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

std::string screen(const Diagnosis& d) {
  return render_text(d, {.color = false, .columns = 80});
}

void expect_narrow(const std::string& text) {
  for (const auto& line : lines_of(text)) EXPECT_LE(columns_of(line), 80) << line;
}

void expect_fits(const std::string& text) {
  EXPECT_LE(lines_of(text).size(), 24u) << text;
  expect_narrow(text);
}

void expect_clean(const std::string& text) {
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
    EXPECT_NE(c, '\x7f');
  }
  for (std::size_t i = 0; i + 1 < text.size(); i++) {
    const auto next = static_cast<unsigned char>(text[i + 1]);
    EXPECT_FALSE(text[i] == '\xc2' && next >= 0x80 && next < 0xa0) << "a C1 control";
  }
  EXPECT_NO_THROW((void)nlohmann::json(text).dump()) << "not UTF-8";
}

/// The shares of the table's rows, which have a time after their percents.
std::vector<int> shares_of(const std::string& text) {
  static const std::regex kRow(R"(^ *(?:\d+ +)?(\d{1,3}) % +[\d.]+ (?:s|ms|µs) .*)");
  std::vector<int> shares;
  for (const auto& line : lines_of(text)) {
    std::smatch match;
    if (std::regex_match(line, match, kRow)) shares.push_back(std::stoi(match[1]));
  }
  return shares;
}
int sum(const std::vector<int>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0);
}

TEST(RenderText, NamesTheDearestCauseFirst) {
  const auto text = screen(
      diagnosis({finding(Cause::kStorageRead, 6'000'000'000, "/data/*.jpg on ext4", "main 1"),
                 finding(Cause::kCpuBusy, 4'000'000'000, "main 1")}));
  EXPECT_EQ(shares_of(text), (std::vector{60, 40}));
  const std::size_t storage = text.find("storage.read"), busy = text.find("cpu.busy");
  EXPECT_LT(storage, busy);
  EXPECT_NE(busy, std::string::npos);
  EXPECT_NE(text.find("/data/*.jpg on ext4"), std::string::npos);
  EXPECT_NE(text.find("proven"), std::string::npos);
}

TEST(RenderText, SharesSumToAHundred) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; round++) {
    std::vector<model::Finding> findings;
    const std::size_t count = 1 + random() % 9;
    for (std::size_t i = 0; i < count; i++) {
      const auto ns = 1 + static_cast<model::DurationNs>(random() % (1ull << (10 + random() % 30)));
      findings.push_back(finding(kCauses[random() % std::size(kCauses)], ns, "object"));
    }
    std::sort(findings.begin(), findings.end(),
              [](const auto& a, const auto& b) { return a.ns > b.ns; });
    if (random() % 2)
      findings.push_back(finding(Cause::kUnknown, 1 + static_cast<long>(random() % 1'000'000), ""));
    const std::string text = screen(diagnosis(findings));
    ASSERT_EQ(sum(shares_of(text)), 100) << text;
    expect_fits(text);
  }
}

TEST(RenderText, AThirdEachStillSumsToAHundred) {
  const auto text = screen(diagnosis({finding(Cause::kStorageRead, 1'000'000, "a"),
                                      finding(Cause::kCpuBusy, 1'000'000, "b"),
                                      finding(Cause::kWaitSleep, 1'000'000, "c")}));
  EXPECT_EQ(sum(shares_of(text)), 100) << text;
}

TEST(RenderText, HostileNamesNeitherReachTheTerminalNorBreakTheLayout) {
  for (const std::string& name : hostile_names()) {
    std::vector<model::Finding> findings;
    for (const Cause cause : kCauses) findings.push_back(finding(cause, 1'000'000'000, name, name));
    findings.push_back(finding(Cause::kUnknown, 1'000'000, ""));
    auto d = diagnosis(findings);
    d.meta.targets = {{1, name, name}, {2, name, name}};
    const std::string text = screen(d);
    expect_clean(text);
    expect_narrow(text);
    EXPECT_EQ(sum(shares_of(text)), 100) << text;
  }
}

TEST(RenderText, FitsTheScreenWithLongObjectsAndChains) {
  std::vector<model::Finding> findings;
  std::string chain = "python3 1";
  for (int i = 0; i < 16; i++) chain += " ← read pipe ← pt_data_worker " + std::to_string(i);
  for (const Cause cause : kCauses) {
    findings.push_back(finding(cause, 1'000'000'000, "/data/" + std::string(200, 'x'), chain));
  }
  findings.push_back(finding(Cause::kUnknown, 1'000'000, ""));
  expect_fits(screen(diagnosis(findings)));
}

TEST(RenderText, AnEarlierRowNeverShowsASmallerShare) {
  std::vector<model::Finding> findings;
  for (std::size_t i = 0; i < 4; i++) findings.push_back(finding(kCauses[i], 1'000'000, "x"));
  findings.push_back(finding(kCauses[4], 500'000, "x"));
  const auto shares = shares_of(screen(diagnosis(findings)));
  EXPECT_EQ(sum(shares), 100);
  EXPECT_TRUE(std::is_sorted(shares.rbegin(), shares.rend())) << ::testing::PrintToString(shares);
}

TEST(RenderText, FitsWithAllTheCausesThatGetRows) {
  std::vector<model::Finding> findings;
  for (std::size_t i = 0; i < 5; i++)
    findings.push_back(finding(kCauses[i], 1'000'000'000, "x", "main 1 ← read"));
  findings.push_back(finding(Cause::kUnknown, 1'000'000'000, ""));
  auto d = diagnosis(findings);
  d.micro_gap_ns = 5'000;
  expect_fits(screen(d));
}

TEST(RenderText, FitsWithEveryWarning) {
  std::vector<model::Finding> findings;
  for (const Cause cause : kCauses)
    findings.push_back(finding(cause, 1'000'000'000, "x", "main 1 ← read"));
  findings.push_back(finding(Cause::kUnknown, 1'000'000'000, ""));
  auto d = diagnosis(findings);
  d.lost_records = 123'456;
  d.meta.api_complete = false;
  d.load.cut = d.load.no_end = true;
  d.load.damaged_chunks = 3;
  d.conservation_error_ns = -1'000;
  expect_fits(screen(d));
}

TEST(RenderText, FitsALongTargetWithManySiblings) {
  auto d = diagnosis({finding(Cause::kCpuBusy, 1'000'000'000, "main 1")});
  d.meta.targets.assign(20, {4'194'304, "python3", std::string(500, 'a')});
  d.window_ns = 3'600'000'000'000;
  d.lost_records = 1'000'000;
  expect_fits(screen(d));
}

TEST(RenderText, FitsWhateverNumbersARecordingHolds) {
  auto d = diagnosis({finding(Cause::kCpuBusy, 1'000'000'000, "main 1")});
  d.meta.targets.assign(100, {4'294'967'295, "python3", "python3"});
  d.window_ns = 9'223'372'036'854'775'807;
  d.lost_records = 18'446'744'073'709'551'615u;
  expect_fits(screen(d));
}

TEST(RenderText, FitsEveryReasonOfTheUnknown) {
  auto f = finding(Cause::kUnknown, 12'000'000, "");
  f.objects.clear();
  for (int i = 1; i <= static_cast<int>(model::Reason::kPageFault); i++) {
    model::FindingObject o;
    o.id.reason = static_cast<model::Reason>(i);
    o.name = std::string(reason_text(o.id.reason));
    o.ns = 1'000'000;
    f.objects.push_back(o);
  }
  expect_fits(screen(diagnosis({f})));
}

TEST(RenderText, ColoursOnlyWhenAsked) {
  const auto d = diagnosis({finding(Cause::kCpuBusy, 1'000'000'000, "main 1", "main 1")});
  EXPECT_EQ(screen(d).find('\x1b'), std::string::npos);
  const std::string colored = render_text(d, {.color = true, .columns = 80});
  EXPECT_NE(colored.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::regex_replace(colored, std::regex("\x1b\\[[0-9]*m"), ""), screen(d))
      << "nothing else changes";
}

/// Everything beside the table that a report can say at once.
Diagnosis with_all_beside() {
  std::vector<model::Finding> findings;
  for (const Cause cause : kCauses)
    findings.push_back(finding(cause, 1'000'000'000, "x", "main 1 ← read"));
  findings.push_back(finding(Cause::kWaitIdle, 500'000'000, "main 1"));
  findings.push_back(finding(Cause::kUnknown, 1'000'000'000, ""));
  auto d = diagnosis(findings);
  d.no_demand_ns = 500'000'000;
  d.silent_ns = 2'000'000'000;
  d.silence_findings.push_back(finding(Cause::kStorageRead, 2'000'000'000, "x"));
  d.possibly_starved_ns = 30'000'000;
  model::DeviceTime device;
  device.index = 0;
  device.pci_bus_id = "0000:c1:00.0";
  device.nvml_busy = 0.6;
  device.others = {999, 1'000};
  device.processes = {{1, "a", "a"}, {2, "b", "b"}};
  d.devices = {device};
  d.exposures = {{"cuStreamSynchronize", 5'000'000'000, 348}};
  d.long_calls = {{"cuMemcpyHtoDAsync", true, 120, 1 << 20, 300'000'000, 5'000'000},
                  {"cuMemFree", false, 12, 0, 100'000'000, 50'000'000}};
  d.meta.shed = {{"driver calls", d.meta.start_ns + 2'000'000'000, 0.04, 52'000}};
  return d;
}

TEST(RenderText, TellsTheThreeStatesAndWhatStandsBesideThem) {
  const auto d = with_all_beside();
  const std::string text = screen(d);
  for (const char* words :
       {"GPU c1:00.0, 2 processes: starved", "had work ", "not known ", "NVML busy 60 %",
        "no demand ", "not known: 2.00 s no launch (storage.read), 30.0 ms possibly starved",
        "Also on this GPU, not watched: pid 999 and 1 more.", "may change the order"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
  EXPECT_EQ(text.find("wait.idle"), std::string::npos) << "outside of the stall";
  EXPECT_EQ(sum(shares_of(text)), 100) << text;
  expect_fits(text);
}

TEST(RenderText, WithRoomItTellsTheOtherViews) {
  auto d = with_all_beside();
  d.findings.resize(2);
  const std::string text = screen(d);
  for (const char* words : {"came after a return from cuStreamSynchronize (348 times)",
                            "Long driver calls: cuMemcpyHtoDAsync 0.30 s (120), cuMemFree 0.10 s",
                            "Driver calls watched 2.00 s of", ": 52000 a second broke --budget."}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
  expect_fits(text);
}

TEST(RenderText, SaysWhenTheRestCannotChangeTheFirstPlace) {
  auto d = diagnosis({finding(Cause::kStorageRead, 6'000'000'000, "a"),
                      finding(Cause::kCpuBusy, 1'000'000'000, "b")});
  d.not_known_ns = 4'000'000'000;
  EXPECT_NE(screen(d).find("cannot change place 1"), std::string::npos) << screen(d);
  d.not_known_ns = 6'000'000'000;
  EXPECT_NE(screen(d).find("may change the order"), std::string::npos) << screen(d);
}

TEST(RenderText, RanksNothingWhereNextToNothingIsKnown) {
  auto d = diagnosis({finding(Cause::kGpuLaunch, 18'000, "main 1")});
  d.had_work_ns = 0;
  d.not_known_ns = 10'000'000'000;
  d.window_ns = d.not_known_ns + d.micro_gap_ns;
  d.meta.shed = {{"driver calls", d.meta.start_ns + 250'000'000, 0.04, 29'610}};
  const std::string text = screen(d);
  EXPECT_NE(text.find("Too little is known"), std::string::npos) << text;
  EXPECT_EQ(text.find("gpu.launch"), std::string::npos) << text;
  EXPECT_EQ(text.find("proven"), std::string::npos) << text;
  expect_fits(text);
}

TEST(RenderText, ABusierGpuThanTheProofsAllowIsSaid) {
  auto d = diagnosis({finding(Cause::kCpuBusy, 10'000'000'000, "a")});
  model::DeviceTime device;
  device.index = 0;
  device.nvml_busy = 0.9;
  d.devices = {device};
  EXPECT_NE(screen(d).find("somebody else uses it"), std::string::npos) << screen(d);
}

TEST(RenderText, SaysWhyNothingIsProved) {
  Diagnosis d = diagnosis({});
  d.submits = d.syncs = 0;
  EXPECT_NE(screen(d).find("No call to the device"), std::string::npos);
  d.submits = 5;
  EXPECT_NE(screen(d).find("no wait for it ended"), std::string::npos);
  d.syncs = 5;
  EXPECT_NE(screen(d).find("never proved idle"), std::string::npos);
  expect_fits(screen(d));
}

}  // namespace
}  // namespace whystall::output
