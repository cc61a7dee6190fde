// SPDX-License-Identifier: Apache-2.0
// What a monitoring library finds in the device's memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <set>
#include <vector>

#include "shared_device.h"
#include "testing.h"
#include "utilization.h"

namespace gpusim::testing {
namespace {

std::multiset<uint32_t> clients_of(const SharedDevice& device) {
  std::multiset<uint32_t> pids;
  for (const auto& slot : device.memory().client_pids) {
    if (slot != 0) pids.insert(slot);
  }
  return pids;
}

// Until gpusimd has published what `done` looks for; the test's own time limit bounds it.
template <typename Done>
void await(const Done& done) {
  while (!done()) usleep(1000);
}

TEST(GpusimMonitor, ClientsAreListedWhileTheyHoldAContext) {
  Daemon daemon;
  SharedDevice device;
  ASSERT_TRUE(device.open(daemon.dir()));
  EXPECT_TRUE(clients_of(device).empty());
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_TRUE(clients_of(device).empty());
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    EXPECT_EQ(cuda.cuCtxCreate_v2(&first, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(clients_of(device), std::multiset<uint32_t>{static_cast<uint32_t>(getpid())});
    EXPECT_EQ(cuda.cuCtxDestroy_v2(first), CUDA_SUCCESS);
    EXPECT_EQ(clients_of(device).size(), 1U);
    EXPECT_EQ(cuda.cuCtxDestroy_v2(second), CUDA_SUCCESS);
    EXPECT_TRUE(clients_of(device).empty());
  });
  // Killed with a context: gpusimd finds that it is gone.
  const pid_t killed = start_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    raise(SIGKILL);
  });
  wait_status(killed);
  await([&] { return clients_of(device).empty(); });
}

TEST(GpusimMonitor, UtilizationIsTheShareOfTheLastWindow) {
  Daemon daemon;
  SharedDevice device;
  ASSERT_TRUE(device.open(daemon.dir()));
  const DeviceMemory& memory = device.memory();
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(600'000 * kMs), CUDA_SUCCESS);
    await([&] { return memory.utilization_percent == 100; });
    EXPECT_GT(memory.utilization_at_ns, 0);
  });
}

TEST(GpusimMonitor, UuidFollowsTheBusId) {
  std::set<std::vector<uint8_t>> uuids;
  for (const char* id : {"0000:01:00.0", "0000:02:00.0", "0000:01:00.0"}) {
    Daemon daemon({"--pci-bus-id", id});
    SharedDevice device;
    ASSERT_TRUE(device.open(daemon.dir()));
    const uint8_t* uuid = device.memory().uuid;
    uuids.insert(std::vector<uint8_t>(uuid, uuid + 16));
  }
  EXPECT_EQ(uuids.size(), 2U);
}

TEST(GpusimMonitor, ScriptedFaultNumberIsInTheDevice) {
  Daemon daemon({"--xid", "79@1500"});
  SharedDevice device;
  ASSERT_TRUE(device.open(daemon.dir()));
  EXPECT_EQ(device.memory().xid, 79U);
  EXPECT_GT(device.memory().xid_at_ns, now_ns() - 600'000 * kMs);
}

TEST(Utilization, CountsAnOverlapOnce) {
  Utilization kernels;
  kernels.add(0, 30);
  kernels.add(20, 40);
  kernels.add(90, 150);
  EXPECT_EQ(kernels.take(0, 100), 50U);
  EXPECT_EQ(kernels.take(100, 200), 50U);
  EXPECT_EQ(kernels.take(200, 300), 0U);
}

}  // namespace
}  // namespace gpusim::testing
