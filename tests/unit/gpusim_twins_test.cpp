// SPDX-License-Identifier: Apache-2.0
// Per-thread default streams: the calls' twins, their streams, and how they are found by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "shared_device.h"
#include "testing.h"

namespace gpusim::testing {
namespace {

TEST(GpusimTwins, EverySymbolHasAnEntryOfItsOwn) {
  run_client("", [](const Cuda& cuda) {
    // cmpl $imm, X(%rip); je: what a probe finds at the beginning of nearly all real exports.
    std::map<void*, std::string> entries;
    const auto check = [&](void* address, const char* name) {
      EXPECT_TRUE(entries.emplace(address, name).second) << name << " " << entries[address];
      const auto* code = static_cast<const unsigned char*>(address);
      EXPECT_EQ(code[0], 0x81) << name;
      EXPECT_EQ(code[1], 0x3d) << name;
      EXPECT_EQ(code[10], 0x74) << name;
    };
#define GPUSIM_FUNCTION(name) check(reinterpret_cast<void*>(cuda.name), #name);
#include "testing_functions.h"
#undef GPUSIM_FUNCTION
#define GPUSIM_TWIN(name, suffix) check(reinterpret_cast<void*>(cuda.name##suffix), #name #suffix);
#include "cuda_twins.h"
#undef GPUSIM_TWIN
  });
}

TEST(GpusimTwins, NullHandleIsTheThreadsOwnStreamInATwin) {
  Daemon daemon({"--compute-slots", "8"});
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch_by(cuda.cuLaunchKernel_ptsz, 10 * kMs, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs, CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    std::thread([&] {
      EXPECT_EQ(cuda.cuCtxSetCurrent(client.context), CUDA_SUCCESS);
      EXPECT_EQ(client.launch_by(cuda.cuLaunchKernel_ptsz, kMs, nullptr), CUDA_SUCCESS);
    }).join();
    EXPECT_EQ(client.launch_by(cuda.cuLaunchKernel_ptsz, kMs, CU_STREAM_LEGACY), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(client.launch_by(cuda.cuLaunchKernel_ptsz, kMs, nullptr), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 6U);
  EXPECT_NE(ops[0].stream, 0U);
  EXPECT_EQ(ops[1].stream, ops[0].stream);
  EXPECT_EQ(ops[1].start_ns, std::max(soonest(ops[1]), ops[0].end_ns));
  // Another thread's stream waits for nothing of that.
  EXPECT_NE(ops[2].stream, ops[0].stream);
  EXPECT_NE(ops[2].stream, 0U);
  EXPECT_EQ(ops[2].start_ns, soonest(ops[2]));
  // The legacy stream joins both, and they join it.
  EXPECT_EQ(ops[3].stream, 0U);
  EXPECT_EQ(ops[3].start_ns, std::max({soonest(ops[3]), ops[1].end_ns, ops[2].end_ns}));
  EXPECT_EQ(ops[4].stream, 0U);
  EXPECT_EQ(ops[5].stream, ops[0].stream);
  EXPECT_EQ(ops[5].start_ns, std::max(soonest(ops[5]), ops[4].end_ns));
}

TEST(GpusimTwins, SynchronizeAndQueryFollowTheirStream) {
  Daemon daemon({"--compute-slots", "8"});
  Reported<int64_t> returned;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(kNever, client.stream(CU_STREAM_NON_BLOCKING)), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(400 * kMs, client.stream(0)), CUDA_SUCCESS);
    // The thread's own stream is empty; the legacy one's work would wait for the blocking stream.
    EXPECT_EQ(cuda.cuStreamQuery_ptsz(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuda.cuStreamQuery_ptsz(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuda.cuStreamSynchronize_ptsz(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    *returned = now_ns();
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_GE(*returned, ops[1].end_ns);
  EXPECT_LT(*returned, ops[0].end_ns);
}

TEST(GpusimTwins, SynchronousTwinsUseTheThreadsStream) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    CUdeviceptr device = 0;
    char host[64] = {};
    ASSERT_EQ(cuda.cuMemAlloc_v2(&device, sizeof(host)), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2_ptds(device, host, sizeof(host)), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemsetD8_v2_ptds(device, 1, sizeof(host)), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(device, host, sizeof(host)), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_NE(ops[0].stream, 0U);
  EXPECT_EQ(ops[1].stream, ops[0].stream);
  EXPECT_EQ(ops[2].stream, 0U);
}

TEST(GpusimTwins, AddressesAreFoundByNameVersionAndFlag) {
  run_client("", [](const Cuda& cuda) {
    const auto find = [&](const char* name, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
      void* found = nullptr;
      cuda.cuGetProcAddress_v2(name, &found, version, flags, status);
      return found;
    };
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
    EXPECT_EQ(find("cuLaunchKernel", 12000, 0, &status), address(cuda.cuLaunchKernel));
    EXPECT_EQ(find("cuLaunchKernel", 12000, 1, &status), address(cuda.cuLaunchKernel));
    EXPECT_EQ(find("cuLaunchKernel", 12000, 2, &status), address(cuda.cuLaunchKernel_ptsz));
    EXPECT_EQ(find("cuMemcpyDtoH", 12000, 2, &status), address(cuda.cuMemcpyDtoH_v2_ptds));
    // No twin: the function itself.
    EXPECT_EQ(find("cuMemAlloc", 12000, 2, &status), address(cuda.cuMemAlloc_v2));
    EXPECT_EQ(find("cuCtxCreate", 11000, 0, &status), address(cuda.cuCtxCreate_v2));
    EXPECT_EQ(find("cuCtxCreate", 12000, 0, &status), address(cuda.cuCtxCreate_v3));
    EXPECT_EQ(find("cuCtxCreate", 12050, 0, &status), address(cuda.cuCtxCreate_v4));
    EXPECT_EQ(find("cuCtxSynchronize", 12080, 0, &status), address(cuda.cuCtxSynchronize));
    EXPECT_EQ(find("cuCtxSynchronize", 13000, 0, &status), address(cuda.cuCtxSynchronize_v2));
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT_EQ(find("cuGraphInstantiateWithParams", 11000, 0, &status), nullptr);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    EXPECT_EQ(find("cuNoSuch", 13000, 0, &status), nullptr);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    void* found = nullptr;
    EXPECT_EQ(cuda.cuGetProcAddress("cuMemFree", &found, 12000, 0), CUDA_SUCCESS);
    EXPECT_EQ(found, address(cuda.cuMemFree_v2));
  });
}

}  // namespace
}  // namespace gpusim::testing
