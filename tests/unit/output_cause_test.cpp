// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/layout.h"
#include "output/output.h"
#include "output/words.h"
#include "support/diagnoses.h"

namespace whystall::output {
namespace {

using model::Cause;
using model::Diagnosis;
using testing::diagnosis;
using testing::finding;
using testing::hostile_names;

Diagnosis with_evidence() {
  auto read = finding(Cause::kStorageRead, 3'000'000'000, "/data/*.jpg on nfs4", "main 1 ← read");
  model::GapEvidence e;
  e.gap = {1'500'000'000, 1'600'000'000};
  e.pid = 1;
  e.ns = 90'000'000;
  e.pieces = 1;
  e.longest = {1'505'000'000, 1'595'000'000};
  e.chain = {{1, "main 1", "futex", {1'500'000'000, 1'600'000'000}, 0x7f00},
             {2, "loader 2", "read", {1'505'000'000, 1'595'000'000}, 0}};
  read.evidence = {e};
  read.recurrence = {model::Recurrence::Kind::kEvery, 8, 100, 2'000'000'000, 0, 0};
  auto d = diagnosis({read, finding(Cause::kCpuBusy, 1'000'000'000, "main 1"),
                      finding(Cause::kStorageRead, 500'000'000, "/other/x on ext4"),
                      finding(Cause::kWaitIdle, 200'000'000, "main 1"),
                      finding(Cause::kUnknown, 100'000'000, "")});
  d.no_demand_ns = 200'000'000;
  return d;
}

TEST(FindCause, ByRankOrByName) {
  const Diagnosis d = with_evidence();
  EXPECT_EQ(find_cause(d, "1"), &d.findings[0]);
  EXPECT_EQ(find_cause(d, "2"), &d.findings[1]);
  EXPECT_EQ(find_cause(d, "3"), &d.findings[2]);
  EXPECT_EQ(find_cause(d, "storage.read"), &d.findings[0]) << "the dearest of them";
  EXPECT_EQ(find_cause(d, "unknown"), &d.findings[4]);
  EXPECT_EQ(find_cause(d, "wait.idle"), &d.findings[3]);
  for (const char* none :
       {"0", "4", "-1", "1x", "", "99999999999999999999", "storage", "cpu.waiting"})
    EXPECT_EQ(find_cause(d, none), nullptr) << none;
}

TEST(RenderCause, TellsAllOfOneCause) {
  const Diagnosis d = with_evidence();
  const std::string text = render_cause_text(d, d.findings[0], {});
  for (const char* words :
       {"Cause 1 of 3: storage.read   3.00 s, 65.2 % of the stalled time", "waited for its file",
        "5 waits in read, mean 0.60 s, every 100 gaps (2.00 s)", "How sure: proven 3.00 s",
        "Of the same cause: 3", "at 0.500000 s", "0.10 s long", "main 1: lock 0x7f00",
        "0.505000 s    90.0 ms  held by loader 2: read", "Next: "})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

TEST(RenderCause, WhatHasNoRankSaysSo) {
  const Diagnosis d = with_evidence();
  EXPECT_TRUE(render_cause_text(d, d.findings[4], {}).starts_with("Beside the ranking: unknown"));
  const std::string idle = render_cause_text(d, d.findings[3], {});
  EXPECT_EQ(idle.find("of the stalled time"), std::string::npos) << idle;
}

TEST(RenderCause, IsNarrowAndCleanWhateverNamesContain) {
  for (const std::string& name : hostile_names()) {
    auto f = finding(Cause::kStorageRead, 1'000'000, name, name);
    model::GapEvidence e;
    e.ns = 1;
    e.chain = {{1, name, name, {}, 0}};
    f.evidence = {e};
    const Diagnosis d = diagnosis({f});
    const std::string text = render_cause_text(d, d.findings[0], {});
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t end = text.find('\n', begin);
      EXPECT_LE(width(std::string_view(text).substr(begin, end - begin)), 80) << text;
      begin = end + 1;
    }
    for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    EXPECT_TRUE(nlohmann::json::accept(render_cause_json(d, d.findings[0])));
  }
}

TEST(RenderCause, ItsJsonIsThatOfTheReport) {
  const Diagnosis d = with_evidence();
  const auto report = nlohmann::json::parse(render_json(d));
  for (std::size_t i = 0; i < d.findings.size(); i++)
    EXPECT_EQ(nlohmann::json::parse(render_cause_json(d, d.findings[i])), report["findings"][i]);
  const auto& first = report["findings"][0];
  EXPECT_EQ(first["rank"], 1);
  EXPECT_EQ(first["smaller"]["ns"], 1'500'000'000);
  EXPECT_EQ(first["smaller"]["count"], 2);
  EXPECT_EQ(first["evidence"][0]["gap"]["after_ns"], 500'000'000);
  EXPECT_EQ(first["evidence"][0]["chain"][0]["lock"], "0x7f00");
  EXPECT_TRUE(first["evidence"][0]["chain"][1]["lock"].is_null());
  EXPECT_EQ(first["recurrence"]["every_gaps"], 100);
  EXPECT_TRUE(report["findings"][4]["rank"].is_null());
}

TEST(HowOften, IsInTheUsersWordsForEveryCause) {
  const model::Meta meta;
  for (int i = 0; i < static_cast<int>(Cause::kUnknown); i++) {
    auto f = finding(static_cast<Cause>(i), 500'000'000, "x");
    const std::string many = how_often(f, meta, 62);
    EXPECT_TRUE(many.starts_with("5 ")) << many;
    EXPECT_TRUE(many.ends_with(", mean 0.10 s")) << many;
    EXPECT_LE(width(many), 62) << many;
    f.pieces = 1;
    const std::string one = how_often(f, meta, 62);
    EXPECT_TRUE(one.starts_with("1 ") && one.ends_with(", 0.50 s")) << one;
    EXPECT_EQ(one.find("waits"), std::string::npos) << one;
    EXPECT_EQ(one.find("faults"), std::string::npos) << one;
    EXPECT_EQ(one.find("1 times"), std::string::npos) << one;
  }
}

TEST(HowOften, LeavesTheRuleOutWhereItDoesNotFit) {
  auto f = finding(Cause::kStorageRead, 500'000'000, "x");
  f.recurrence = {model::Recurrence::Kind::kEvery, 8, 100, 2'000'000'000, 0, 0};
  EXPECT_EQ(how_often(f, {}, 62), "5 waits in read, mean 0.10 s, every 100 gaps (2.00 s)");
  EXPECT_EQ(how_often(f, {}, 40), "5 waits in read, mean 0.10 s");
}

TEST(WrapList, CountsWhatHasNoRoom) {
  EXPECT_EQ(wrap_list("L: ", {}, 40, 2), "");
  EXPECT_EQ(wrap_list("L: ", {"a"}, 40, 0), "");
  EXPECT_EQ(wrap_list("L: ", {"a", "b"}, 40, 1), "L: a, b.\n");
  EXPECT_EQ(wrap_list("L: ", {"aaaaaaaa", "bbbbbbbb", "cccccccc"}, 24, 3),
            "L: aaaaaaaa, bbbbbbbb,\n   cccccccc.\n");
  for (int lines = 1; lines < 4; lines++) {
    for (int columns = 30; columns < 60; columns++) {
      const std::string text = wrap_list(
          "Label: ", {"one", "two and more", std::string(80, 'x'), "three", "four", "five"},
          columns, lines);
      EXPECT_LE(std::count(text.begin(), text.end(), '\n'), lines) << text;
      std::size_t begin = 0;
      for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        EXPECT_LE(static_cast<int>(width(text.substr(begin, end - begin))), columns) << text;
    }
  }
}

}  // namespace
}  // namespace whystall::output
