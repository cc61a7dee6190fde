// SPDX-License-Identifier: Apache-2.0
#include "model/nvml.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "load/load.h"
#include "load/summary.h"
#include "output/info.h"
#include "support/recording_file.h"

namespace whystall {
namespace {

using model::busy_share;
using model::Interval;
using model::Nvml;
using model::TimeNs;
using testing::append_meta;
using testing::Bytes;
using testing::TempDir;

constexpr TimeNs kMs = 1'000'000;
constexpr TimeNs kSecond = 1'000 * kMs;

/// One sample of device 0 each 200 ms in (lo, hi].
Nvml sampled(TimeNs lo, TimeNs hi, std::uint8_t percent) {
  Nvml nvml;
  for (TimeNs t = lo + 200 * kMs; t <= hi; t += 200 * kMs)
    nvml.samples.push_back({t, 0, percent, 0});
  return nvml;
}

void add(Nvml& to, const Nvml& more) {
  to.samples.insert(to.samples.end(), more.samples.begin(), more.samples.end());
}

TEST(BusyShare, IsTheMeanOfTheSamples) {
  Nvml nvml = sampled(0, 5 * kSecond, 40);
  add(nvml, sampled(5 * kSecond, 10 * kSecond, 60));
  EXPECT_DOUBLE_EQ(*busy_share(nvml, 0, {5 * kSecond, 10 * kSecond}), 0.6);
  EXPECT_NEAR(*busy_share(nvml, 0, {0, 10 * kSecond}), 0.509, 0.001)
      << "the first second's samples may speak of what was before";
}

TEST(BusyShare, LeavesOutWhatMayTellOfTimeOutsideTheInterval) {
  Nvml nvml = sampled(0, 3 * kSecond, 100);
  add(nvml, sampled(3 * kSecond, 6 * kSecond, 0));
  // At 4.0 s and later, no sample tells of the busy time before 3.0 s.
  EXPECT_DOUBLE_EQ(*busy_share(nvml, 0, {3 * kSecond, 6 * kSecond}), 0.0);
  EXPECT_DOUBLE_EQ(*busy_share(nvml, 0, {0, 3 * kSecond}), 1.0);
}

TEST(BusyShare, IsNotKnownWithoutSamplesForMostOfTheInterval) {
  const Nvml nvml = sampled(0, 10 * kSecond, 40);
  EXPECT_FALSE(busy_share(Nvml{}, 0, {0, kSecond}));
  EXPECT_FALSE(busy_share(nvml, 1, {0, 10 * kSecond})) << "another device";
  EXPECT_FALSE(busy_share(nvml, 0, {2 * kSecond, 2 * kSecond + 900 * kMs})) << "too short";
  EXPECT_TRUE(busy_share(nvml, 0, {2 * kSecond, 3 * kSecond}));
  EXPECT_TRUE(busy_share(nvml, 0, {0, 19 * kSecond}));
  EXPECT_FALSE(busy_share(nvml, 0, {0, 21 * kSecond})) << "NVML was stuck for most of it";
  EXPECT_FALSE(busy_share(nvml, 0, {9 * kSecond, 3 * kSecond})) << "no interval";
}

TEST(BusyShare, BoundsOfTimeAreNoTrouble) {
  Nvml nvml;
  constexpr TimeNs kLast = TimeNs{1} << 60;
  nvml.samples = {{0, 0, 10, 0}, {kLast, 0, 20, 0}};
  EXPECT_FALSE(busy_share(nvml, 0, {0, kLast}));
  EXPECT_FALSE(busy_share(nvml, 0, {-kLast, kLast}));
}

class NvmlMeta : public ::testing::Test {
 protected:
  Nvml load(std::initializer_list<std::string> pieces) {
    Bytes bytes = testing::file_header();
    append_meta(bytes, R"({"start_ns":100,"end_ns":5000000100})");
    for (const std::string& piece : pieces) append_meta(bytes, R"({"nvml":)" + piece + "}");
    testing::write_bytes(path_, bytes);
    auto recording = load::load_recording(path_);
    EXPECT_TRUE(recording.ok());
    EXPECT_EQ(recording->stats.bad_records, 0u);
    return recording->meta.nvml;
  }
  std::string info() { return output::render_info_text(*load::summarize(path_), "r.wst"); }

  TempDir dir_;
  const std::string path_ = dir_.file("a.wst");
};

TEST_F(NvmlMeta, PiecesAddUpInAnyOrder) {
  const Nvml nvml =
      load({R"({"at_ns":2000,"state":"degraded","why":"w","samples":[
             {"t_ns":2000,"device":0,"gpu_percent":100,"memory_percent":3}],
           "processes":[{"device":0,"pid":7,"first_ns":2000,"last_ns":2500}]})",
            R"({"at_ns":1000,"state":"live","why":"","devices":[{"index":0,"uuid":"GPU-1",
             "pci_bus_id":"00000000:65:00.0","minor":3,"name":"N"}],
           "samples":[{"t_ns":1000,"device":0,"gpu_percent":0,"memory_percent":0}],
           "memory":[{"t_ns":1000,"device":0,"used_bytes":5,"total_bytes":9}],
           "processes":[{"device":0,"pid":7,"first_ns":1000,"last_ns":1000},
                        {"device":1,"pid":7,"first_ns":1000,"last_ns":1000}]})",
            R"({"memory":[{"t_ns":1500,"device":0,"used_bytes":2,"total_bytes":9}]})"});
  EXPECT_EQ(nvml.state, "degraded") << "the later one, though it comes first in the file";
  EXPECT_EQ(nvml.why, "w");
  ASSERT_EQ(nvml.devices.size(), 1u);
  EXPECT_EQ(nvml.devices.at(0).uuid, "GPU-1");
  EXPECT_EQ(nvml.devices.at(0).minor, 3u);
  EXPECT_EQ(nvml.devices.at(0).most_used_bytes, 5u);
  ASSERT_EQ(nvml.samples.size(), 2u);
  EXPECT_EQ(nvml.samples[0].t_ns, 1000);
  EXPECT_EQ(nvml.samples[1].gpu_percent, 100);
  EXPECT_EQ(nvml.processes.at({0, 7}).first_ns, 1000);
  EXPECT_EQ(nvml.processes.at({0, 7}).last_ns, 2500);
  EXPECT_EQ(devices_of(nvml, 7), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(devices_of(nvml, 8).empty());
  EXPECT_EQ(nvml.left_out, 0u);
}

TEST_F(NvmlMeta, WhatCannotBeIsCountedAndNotBelieved) {
  const Nvml nvml = load({R"([1])", R"({"at_ns":"now","state":"live"})",
                          R"({"devices":[{"index":64},{"index":-1},{"name":"x"},7],"samples":[
             {"t_ns":-5,"device":0,"gpu_percent":1,"memory_percent":1},
             {"t_ns":1152921504606846977,"device":0,"gpu_percent":1,"memory_percent":1},
             {"t_ns":5,"device":4294967296,"gpu_percent":1,"memory_percent":1},
             {"t_ns":5,"device":0,"gpu_percent":101,"memory_percent":1},
             {"t_ns":5,"device":0,"gpu_percent":0.5,"memory_percent":1},
             {"t_ns":5,"device":0,"gpu_percent":1},null],
           "memory":[{"device":0,"used_bytes":10,"total_bytes":9}],
           "processes":[{"device":0,"pid":0,"first_ns":1,"last_ns":1},
             {"device":0,"pid":4294967296,"first_ns":1,"last_ns":1},
             {"device":0,"pid":1,"first_ns":2,"last_ns":1}]})",
                          R"({"samples":{"t_ns":5},"devices":3,"processes":"all","memory":null})"});
  EXPECT_EQ(nvml.left_out, 4u + 7u + 1u + 3u);
  EXPECT_EQ(nvml.state, "");
  EXPECT_TRUE(nvml.devices.empty());
  EXPECT_TRUE(nvml.samples.empty());
  EXPECT_TRUE(nvml.processes.empty());
}

TEST_F(NvmlMeta, InfoTellsTheSourceAndItsDevices) {
  load({});
  EXPECT_NE(info().find("counters   not told\n"), std::string::npos) << info();
  load({R"({"at_ns":100,"state":"missing","why":"libnvidia-ml.so.1 is not installed"})"});
  EXPECT_NE(info().find("counters   missing: libnvidia-ml.so.1 is not installed\n"),
            std::string::npos)
      << info();
  std::string samples, devices;
  for (int i = 1; i <= 25; i++) {
    samples += (i > 1 ? "," : "") + std::string(R"({"t_ns":)") + std::to_string(i * 200 * kMs) +
               R"(,"device":0,"gpu_percent":40,"memory_percent":0})";
  }
  for (int i = 0; i < 8; i++) {
    devices += (i ? "," : "") + std::string(R"({"index":)") + std::to_string(i) +
               R"(,"pci_bus_id":"00000000:65:00.0","name":"\u001b[2J)" + std::string(150, 'x') +
               "\"}";
  }
  load({R"({"at_ns":100,"state":"live","why":"","devices":[)" + devices + R"(],"samples":[)" +
        samples + "]}"});
  EXPECT_NE(info().find("counters   live; GPU 0 busy 40.0 %, 1 not known, 2 not known, "),
            std::string::npos)
      << info();
}

}  // namespace
}  // namespace whystall
