// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/output.h"
#include "support/diagnoses.h"

namespace whystall::output {
namespace {

using model::Cause;
using nlohmann::json;
using testing::diagnosis;
using testing::finding;
using testing::hostile_names;

/// Throws, and so fails the test, on what is not strict JSON.
json parse(const model::Diagnosis& d) {
  const std::string text = render_json(d);
  EXPECT_EQ(text.back(), '\n');
  for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << text;
  return json::parse(text);
}

TEST(RenderJson, HoldsEveryNumber) {
  auto d =
      diagnosis({finding(Cause::kStorageRead, 6'000, "/data/1.jpg", "main 1 ← read"),
                 finding(Cause::kGpuLaunch, 1'000, "main 1"), finding(Cause::kUnknown, 3'000, "")});
  d.starved_proven_ns = 8'000;
  d.micro_gaps = 4;
  d.lost_records = 9;
  d.load = {101, 102, 103, 104, 105, true, true};
  d.meta.api_complete = false;
  const json j = parse(d);
  EXPECT_EQ(j["starved_ns"], 9'000);
  EXPECT_EQ(j["starved_proven_ns"], 8'000);
  EXPECT_EQ(j["micro_gap_ns"], 1'000);
  EXPECT_EQ(j["had_work_ns"], d.had_work_ns);
  EXPECT_EQ(j["not_known_ns"], d.not_known_ns);
  EXPECT_EQ(j["explained_ns"], 7'000);
  EXPECT_EQ(j["gaps"], 3);
  EXPECT_EQ(j["micro_gaps"], 4);
  EXPECT_EQ(j["submits"], 100);
  EXPECT_EQ(j["syncs"], 100);
  EXPECT_EQ(j["lost_records"], 9);
  EXPECT_EQ(j["api_complete"], false);
  EXPECT_EQ(j["conservation_error_ns"], 0);
  EXPECT_EQ(j["window"]["start_ns"], d.meta.start_ns);
  EXPECT_EQ(j["window"]["end_ns"], d.meta.end_ns);
  EXPECT_EQ(j["recording"]["records"], 101);
  EXPECT_EQ(j["recording"]["unknown_records"], 102);
  EXPECT_EQ(j["recording"]["bad_records"], 103);
  EXPECT_EQ(j["recording"]["unknown_chunks"], 104);
  EXPECT_EQ(j["recording"]["damaged_chunks"], 105);
  EXPECT_EQ(j["recording"]["cut"], true);
  EXPECT_EQ(j["recording"]["ended"], false);
  EXPECT_EQ(j["target"]["pid"], 4821);
  ASSERT_EQ(j["findings"].size(), 3u);
  const json& f = j["findings"][0];
  EXPECT_EQ(f["cause"], "storage.read");
  EXPECT_EQ(f["ns"], 6'000);
  EXPECT_DOUBLE_EQ(f["share"], 0.6);
  EXPECT_EQ(f["confidence"], "proven");
  EXPECT_EQ(f["confidence_ns"]["proven"], 6'000);
  EXPECT_EQ(f["gaps"], 3);
  EXPECT_EQ(f["pieces"], 5);
  EXPECT_EQ(f["path"], "main 1 ← read");
  EXPECT_EQ(f["objects"][0]["path"], "/data/1.jpg");
  EXPECT_EQ(f["objects"][0]["ns"], 6'000);
}

TEST(RenderJson, NamesTheLockAndItsHolder) {
  auto f = finding(Cause::kLockUser, 5, "worker");
  f.objects[0].id = {.address = 0x7f0012345678, .tid = 42, .pid = 1, .slept = true};
  const json o = parse(diagnosis({f}))["findings"][0]["objects"][0];
  EXPECT_EQ(o["address"], "0x7f0012345678");
  EXPECT_EQ(o["holder_tid"], 42);
  EXPECT_EQ(o["holder_did"], "slept");
}

TEST(RenderJson, IsStrictWhateverNamesContain) {
  for (const std::string& name : hostile_names()) {
    std::vector<model::Finding> findings;
    for (const Cause cause :
         {Cause::kStorageRead, Cause::kLockUser, Cause::kCpuContention, Cause::kCpuBusy}) {
      findings.push_back(finding(cause, 1'000, name, name));
    }
    auto d = diagnosis(findings);
    d.meta.targets = {{1, name, name}};
    d.meta.whystall = d.meta.kernel = d.meta.host = d.meta.profile = d.meta.clock = name;
    d.meta.stopped_by = d.meta.driver_library = name;
    const json j = parse(d);
    EXPECT_EQ(j["findings"].size(), findings.size());
    EXPECT_EQ(j["findings"][0]["object"], printable(name));
    EXPECT_EQ(j["target"]["command"], printable(name));
  }
}

TEST(RenderJson, KeepsIntegersExact) {
  auto d = diagnosis({finding(Cause::kCpuBusy, 9'007'199'254'740'993, "main 1")});
  EXPECT_EQ(parse(d)["findings"][0]["ns"].get<std::int64_t>(), 9'007'199'254'740'993);
}

TEST(RenderJson, OfNothingIsStillAnObject) {
  const json j = parse(model::Diagnosis{});
  EXPECT_TRUE(j.is_object());
  EXPECT_EQ(j["findings"], json::array());
  EXPECT_TRUE(j["target"].is_null());
}

TEST(Printable, Table) {
  constexpr const char* kBad = "\xEF\xBF\xBD";
  const std::string bad = kBad;
  const std::pair<std::string, std::string> cases[] = {
      {"plain", "plain"},
      {"", ""},
      {"größe 日本語 🚀", "größe 日本語 🚀"},
      {"a\nb\tc\x1b[0m\x7f", "a b c [0m "},
      {std::string("a\0b", 3), "a b"},
      {"\xff", bad},
      {"\xc3", bad},
      {"\xc3(", bad + "("},
      {"\xe2\x82", bad + bad},
      {"\xc0\xaf", bad + bad},
      {"\xe0\x80\xaf", bad + bad + bad},
      {"\xed\xa0\x80", bad + bad + bad},
      {"\xf4\x90\x80\x80", bad + bad + bad + bad},
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
      {"\xf5\x80\x80\x80", bad + bad + bad + bad},
      {"ok\x80ok", "ok" + bad + "ok"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(printable(text), want) << json(want).dump();
}

TEST(Printable, LeavesNoC1Control) {
  for (int second = 0x80; second < 0xa0; second++) {
    const std::string text = {'\xc2', static_cast<char>(second)};
    EXPECT_EQ(printable(text).find(text), std::string::npos) << second;
  }
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
}

TEST(Printable, IsIdempotent) {
  for (const std::string& name : hostile_names())
    EXPECT_EQ(printable(printable(name)), printable(name));
}

}  // namespace
}  // namespace whystall::output
