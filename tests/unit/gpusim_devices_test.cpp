// SPDX-License-Identifier: Apache-2.0
// Several devices, several processes on one, contexts, and what a launch costs its caller.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "shared_device.h"
#include "testing.h"

namespace gpusim::testing {
namespace {

// What truth.py makes of a window of the schedule.
nlohmann::json truth(const Daemon& daemon, int64_t from_ns, int64_t to_ns) {
  const std::string command = "/usr/bin/python3 " GPUSIM_TRUTH " " + daemon.dir() +
                              "/schedule.ndjson --json --from " + std::to_string(from_ns) +
                              " --to " + std::to_string(to_ns);
  FILE* output = popen(command.c_str(), "r");
  std::string text;
  char part[4096];
  while (output && std::fgets(part, sizeof(part), output)) text += part;
  EXPECT_EQ(output ? pclose(output) : -1, 0);
  return nlohmann::json::parse(text);
}

TEST(GpusimDevices, OrdinalsFollowTheListAndTheVisibleOnes) {
  Daemon first({"--device-name", "first", "--pci-bus-id", "0000:01:00.0"});
  Daemon second({"--device-name", "second", "--pci-bus-id", "0000:02:00.0"});
  const std::string both = first.dir() + ":" + second.dir();
  const auto names = [](const Cuda& cuda) {
    std::string all;
    int count = 0;
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), CUDA_SUCCESS);
    for (int i = 0; i < count; ++i) {
      char name[32] = {};
      EXPECT_EQ(cuda.cuDeviceGetName(name, sizeof(name), i), CUDA_SUCCESS);
      all += std::string(name) + " ";
    }
    return all;
  };
  run_client(both, [&](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(names(cuda), "first second ");
    CUuuid one = {};
    CUuuid two = {};
    EXPECT_EQ(cuda.cuDeviceGetUuid_v2(&one, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDeviceGetUuid_v2(&two, 1), CUDA_SUCCESS);
    EXPECT_NE(std::string(one.bytes, 16), std::string(two.bytes, 16));
  });
  for (const auto& [visible, expected] :
       {std::pair{"1,0", "second first "}, {"1", "second "}, {"0,7,1", "first "}}) {
    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    run_client(both, [&](const Cuda& cuda) {
      ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
      EXPECT_EQ(names(cuda), expected);
    });
  }
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  run_client(both, [&](const Cuda& cuda) { EXPECT_EQ(cuda.cuInit(0), CUDA_ERROR_NO_DEVICE); });
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(GpusimDevices, EachHasItsEnginesAndEventsReachAcross) {
  Daemon first({"--p2p-gbps", "1"});
  Daemon second;
  run_client(first.dir() + ":" + second.dir(), [](const Cuda& cuda) {
    const Client there(cuda, 0, 1);
    const Client here(cuda, 0, 0);
    const auto use = [&](const Client& client) {
      EXPECT_EQ(cuda.cuCtxSetCurrent(client.context), CUDA_SUCCESS);
    };
    CUdeviceptr from = 0;
    CUdeviceptr to = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&from, 1000), CUDA_SUCCESS);
    const CUevent done = here.event();
    EXPECT_EQ(here.launch(50 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventRecord(done, nullptr), CUDA_SUCCESS);
    use(there);
    CUdevice device = -1;
    EXPECT_EQ(cuda.cuCtxGetDevice(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&to, 1000), CUDA_SUCCESS);
    EXPECT_EQ(there.launch(kMs, there.stream(CU_STREAM_NON_BLOCKING)), CUDA_SUCCESS);
    const CUstream waiting = there.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(cuda.cuStreamWaitEvent(waiting, done, 0), CUDA_SUCCESS);
    EXPECT_EQ(there.launch(kMs, waiting), CUDA_SUCCESS);
    use(here);
    int able = 0;
    EXPECT_EQ(cuda.cuDeviceCanAccessPeer(&able, 0, 1), CUDA_SUCCESS);
    EXPECT_EQ(able, 1);
    const CUstream copies = here.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(cuda.cuMemcpyPeerAsync(to, there.context, from, here.context, 1000, copies),
              CUDA_SUCCESS);
  });
  const auto ops = first.schedule();
  const auto other = second.schedule();
  ASSERT_EQ(ops.size(), 2U);
  ASSERT_EQ(other.size(), 2U);
  EXPECT_EQ(other[0].start_ns, soonest(other[0]));
  EXPECT_EQ(other[1].start_ns, std::max(soonest(other[1]), ops[0].end_ns));
  // The kernel does not hold the copy between devices up.
  EXPECT_EQ(ops[1].kind, "p2p");
  EXPECT_EQ(ops[1].start_ns, soonest(ops[1]));
  EXPECT_EQ(ops[1].end_ns - ops[1].start_ns, 1000 + 1000);
}

TEST(GpusimDevices, ContextsStackAndThePrimaryOneCounts) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    unsigned int flags = 9;
    int active = 9;
    EXPECT_EQ(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD), CUDA_SUCCESS);
    CUcontext primary = nullptr;
    CUcontext own = nullptr;
    CUcontext got = nullptr;
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 1);
    EXPECT_EQ(flags, static_cast<unsigned int>(CU_CTX_SCHED_YIELD));
    EXPECT_EQ(cuda.cuCtxPushCurrent_v2(primary), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxCreate_v3(&own, nullptr, 0, CU_CTX_SCHED_BLOCKING_SYNC, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxGetFlags(&flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, static_cast<unsigned int>(CU_CTX_SCHED_BLOCKING_SYNC));
    CUstream stream = nullptr;
    EXPECT_EQ(cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -2), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&got), CUDA_SUCCESS);
    EXPECT_EQ(got, own);
    EXPECT_EQ(cuda.cuCtxGetCurrent(&got), CUDA_SUCCESS);
    EXPECT_EQ(got, primary);
    EXPECT_EQ(cuda.cuStreamGetCtx(stream, &got), CUDA_SUCCESS);
    EXPECT_EQ(got, own);
    int priority = 0;
    EXPECT_EQ(cuda.cuStreamGetPriority(stream, &priority), CUDA_SUCCESS);
    EXPECT_EQ(priority, -2);
    EXPECT_EQ(cuda.cuStreamGetFlags(stream, &flags), CUDA_SUCCESS);
    EXPECT_EQ(flags, static_cast<unsigned int>(CU_STREAM_NON_BLOCKING));
    EXPECT_EQ(cuda.cuCtxSynchronize_v2(own), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&got), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&got), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  });
}

TEST(GpusimDevices, LaunchesPayUnderTheContextsLock) {
  constexpr int kLaunches = 5;
  constexpr int64_t kCostNs = 10 * kMs;
  Daemon daemon({"--launch-cost-us", "10000"});
  Reported<int64_t> returned[2];
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const auto work = [&](int64_t* last) {
      EXPECT_EQ(cuda.cuCtxSetCurrent(client.context), CUDA_SUCCESS);
      const CUstream stream = client.stream(CU_STREAM_NON_BLOCKING);
      for (int i = 0; i < kLaunches; ++i) EXPECT_EQ(client.launch(1, stream), CUDA_SUCCESS);
      *last = now_ns();
    };
    std::thread other(work, &*returned[0]);
    work(&*returned[1]);
    other.join();
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U * kLaunches);
  int64_t first = ops[0].api_ns;
  for (const ScheduledOp& op : ops) first = std::min(first, op.api_ns);
  EXPECT_GE(std::max(*returned[0], *returned[1]) - first, 2 * kLaunches * kCostNs);
}

TEST(GpusimDevices, WaitingForRoomLeavesTheContextToOthers) {
  Daemon daemon({"--compute-slots", "2"});
  Reported<int64_t> returned;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const CUstream full = client.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(client.launch(1500 * kMs, full), CUDA_SUCCESS);
    for (int i = 1; i < 1024; ++i) ASSERT_EQ(client.launch(1, full), CUDA_SUCCESS);
    std::thread waiting([&] {
      EXPECT_EQ(cuda.cuCtxSetCurrent(client.context), CUDA_SUCCESS);
      EXPECT_EQ(client.launch(1, full), CUDA_SUCCESS);
    });
    const CUstream other = client.stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(client.launch(1, other), CUDA_SUCCESS);
    *returned = now_ns();
    waiting.join();
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 1125U);
  EXPECT_LT(*returned, ops[0].end_ns);
}

TEST(GpusimDevices, ProcessesTakeTurns) {
  constexpr int64_t kSliceNs = kMs;
  Daemon daemon({"--time-slice-us", "1000"});
  int ready[2];
  int go[2][2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t clients[2];
  for (int number = 0; number < 2; ++number) {
    const int(&going)[2] = go[number];
    ASSERT_EQ(pipe(go[number]), 0);
    clients[number] = start_client(daemon.dir(), [&](const Cuda& cuda) {
      const Client client(cuda);
      char c = 0;
      ASSERT_EQ(write(ready[1], "x", 1), 1);
      ASSERT_EQ(read(going[0], &c, 1), 1);
      for (int i = 0; i < 5; ++i) EXPECT_EQ(client.launch(3 * kMs + 1), CUDA_SUCCESS);
      // Until the other has launched, too: both hold a context all the while.
      ASSERT_EQ(write(ready[1], "x", 1), 1);
      ASSERT_EQ(read(going[0], &c, 1), 1);
    });
  }
  for (int round = 0; round < 2; ++round) {
    char c[2];
    for (char& one : c) ASSERT_EQ(read(ready[0], &one, 1), 1);
    for (const auto& going : go) ASSERT_EQ(write(going[1], c, 1), 1);
  }
  for (const pid_t pid : clients) EXPECT_EQ(wait_status(pid), 0);
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 10U);
  std::set<int64_t> turns[2];
  std::vector<std::pair<int64_t, int64_t>> all;
  for (const ScheduledOp& op : ops) {
    ASSERT_GE(op.slices.size(), 3U);
    EXPECT_EQ(op.slices.front().first, op.start_ns);
    EXPECT_EQ(op.slices.back().second, op.end_ns);
    int64_t run = 0;
    for (const auto& [start, end] : op.slices) {
      run += end - start;
      EXPECT_EQ(start / kSliceNs, (end - 1) / kSliceNs);
      const bool one = op.pid == static_cast<uint32_t>(clients[0]);
      turns[one].insert(start / kSliceNs % 2);
      all.emplace_back(start, end);
    }
    EXPECT_EQ(run, 3 * kMs + 1);
  }
  EXPECT_EQ(turns[0].size(), 1U);
  EXPECT_EQ(turns[1].size(), 1U);
  EXPECT_NE(turns[0], turns[1]);
  std::sort(all.begin(), all.end());
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].first, all[i - 1].second);
  // Between the first process's turns the device was the other's, or idle.
  const int64_t whole = all.back().second - all.front().first;
  EXPECT_EQ(truth(daemon, all.front().first, all.back().second)["busy_ns"], 10 * (3 * kMs + 1));
  EXPECT_GE(whole, 10 * (3 * kMs + 1));
}

TEST(GpusimDevices, HostFunctionsArePendingButDoNotKeepTheDeviceBusy) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(400 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuLaunchHostFunc(nullptr, [](void*) {}, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  const auto result = truth(daemon, ops[0].api_ns, ops[1].end_ns);
  EXPECT_EQ(result["busy_ns"], 400 * kMs);
  EXPECT_EQ(result["empty_ns"], 0);
}

TEST(GpusimDevices, AloneAProcessRunsInOnePiece) {
  Daemon daemon({"--time-slice-us", "1000", "--ring-ops", "256"});
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(kNever), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_TRUE(ops[0].slices.empty());
  EXPECT_EQ(ops[0].start_ns, soonest(ops[0]));
}

TEST(Slices, AreLimitedAndLeaveNothingOut) {
  auto line = std::make_unique<Timeline>();
  auto pieces = std::make_unique<Pieces>();
  line->reserve(25, 45, 0);
  lay(*line, 3, 30, {10, 2, 0}, 100, pieces.get());
  // Slices 0, 2 and 4 are its own; 25 to 45 are taken.
  ASSERT_EQ(pieces->count, 5U);
  const std::pair<int64_t, int64_t> expected[] = {{3, 10}, {20, 25}, {45, 50}, {60, 70}, {80, 83}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pieces->at[i].start_ns, expected[i].first) << i;
    EXPECT_EQ(pieces->at[i].end_ns, expected[i].second) << i;
  }
  lay(*line, 3, 1000, {10, 2, 0}, 3, pieces.get());
  ASSERT_EQ(pieces->count, 3U);
  EXPECT_EQ(pieces->at[2].start_ns, 45);
  EXPECT_EQ(pieces->end_ns(), 45 + 1000 - 12);
}

}  // namespace
}  // namespace gpusim::testing
