// SPDX-License-Identifier: Apache-2.0
#include "capture/nvml_facts.h"

#include <gtest/gtest.h>

namespace whystall::capture {
namespace {

using nlohmann::json;

std::string sample(TimeNs t, int device = 0) {
  return json{{"sample",
               {{"device", device},
                {"before_ns", t - 1000},
                {"after_ns", t},
                {"gpu_percent", 40},
                {"memory_percent", 2}}}}
      .dump();
}

constexpr const char* kDevice =
    R"({"device":{"index":0,"uuid":"GPU-1","pci_bus_id":"00000000:65:00.0","minor":1,"name":"N"}})";

TEST(NvmlFacts, APieceHoldsWhatIsNewAndTheRestComesAgain) {
  NvmlFacts facts;
  EXPECT_EQ(facts.report().state, SourceState::kMissing);
  facts.take_line(kDevice);
  facts.take_line(sample(5000));
  facts.take_line(R"({"processes":{"device":0,"t_ns":5100,"pids":[7,8]}})");
  facts.take_line(R"({"processes":{"device":0,"t_ns":6100,"pids":[7]}})");
  const json first = facts.take_piece(kSecond)["nvml"];
  EXPECT_EQ(first["state"], "live");
  EXPECT_EQ(first["devices"], json::parse(R"([{"index":0,"uuid":"GPU-1",
      "pci_bus_id":"00000000:65:00.0","minor":1,"name":"N"}])"));
  EXPECT_EQ(first["samples"], json::parse(R"([{"t_ns":5000,"took_ns":1000,"device":0,
      "gpu_percent":40,"memory_percent":2}])"));
  EXPECT_EQ(first["processes"], json::parse(R"([{"device":0,"pid":7,"first_ns":5100,
      "last_ns":6100},{"device":0,"pid":8,"first_ns":5100,"last_ns":5100}])"));
  EXPECT_TRUE(facts.take_piece(2 * kSecond).is_null());
  facts.take_line(sample(9000));
  EXPECT_FALSE(facts.take_piece(3 * kSecond)["nvml"].contains("devices"));
  EXPECT_TRUE(facts.take_piece(12 * kSecond)["nvml"].contains("devices"));
}

TEST(NvmlFacts, SaysWhatIsMissingAndWhy) {
  NvmlFacts facts;
  facts.take_line(R"({"missing":"libnvidia-ml.so.1 is not installed"})");
  facts.take_end("ended with status 0");
  EXPECT_EQ(facts.report().why, "libnvidia-ml.so.1 is not installed");
  EXPECT_TRUE(facts.settled());

  NvmlFacts broken;
  broken.take_line("whystall-nvml: version `GLIBC_2.34' not found");
  broken.take_end("ended with status 1");
  EXPECT_EQ(broken.report().state, SourceState::kMissing);
  EXPECT_EQ(broken.report().why,
            "the NVML helper ended with status 1: whystall-nvml: version `GLIBC_2.34' not found");

  NvmlFacts crashed;
  crashed.take_line(kDevice);
  crashed.take_end("was ended by signal 11");
  EXPECT_EQ(crashed.report().state, SourceState::kDegraded);

  NvmlFacts dropped;
  dropped.take_line(kDevice);
  dropped.take_line(R"({"dropped":{"device":0,"why":"f failed: error 3"}})");
  EXPECT_EQ(dropped.report().state, SourceState::kDegraded);
  EXPECT_EQ(dropped.report().why, "device 0: f failed: error 3");
}

TEST(NvmlFacts, StandsAnyLineAndBoundsWhatWaits) {
  NvmlFacts facts;
  for (const char* line :
       {"", "{", "[]", "7", "{}", R"({"sample":7})", R"({"sample":{"device":"x"}})",
        R"({"device":{"index":-1}})", R"({"device":{"index":900}})", R"({"missing":{}})",
        R"({"dropped":{"why":1}})", R"({"processes":{"pids":7}})",
        R"({"processes":{"device":0,"t_ns":1,"pids":["x",null]}})", R"({"memory":[]})",
        "\xff\xfe\x01"}) {
    facts.take_line(line);
  }
  EXPECT_EQ(facts.report().state, SourceState::kMissing);
  for (int i = 0; i < 10'000; i++) facts.take_line(sample(i));
  EXPECT_EQ(facts.take_piece(kSecond)["nvml"]["samples"].size(), 4096u);
  facts.take_line(sample(1));
  EXPECT_EQ(facts.take_piece(2 * kSecond)["nvml"]["samples"].size(), 1u);
}

}  // namespace
}  // namespace whystall::capture
