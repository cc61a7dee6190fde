// SPDX-License-Identifier: Apache-2.0
// Module images, injection at initialisation, and the faults that a test can ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "shared_device.h"
#include "testing.h"

namespace gpusim::testing {
namespace {

// For clients started while it lives.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
};

constexpr char kPtx[] =
    "// a comment\n"
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry spin_ns(\n  .param .u64 spin_ns_param_0\n)\n{\n  ret;\n}\n"
    ".entry other() { ret; }\n";

TEST(GpusimModules, PtxEntriesAreKernels) {
  Daemon daemon;
  const Environment kernel_ns("GPUSIM_KERNEL_NS", "1234567");
  run_client(daemon.dir(), [](const Cuda& cuda) {
    Client client(cuda);
    CUmodule module = nullptr;
    CUfunction other = nullptr;
    ASSERT_EQ(cuda.cuModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuModuleGetFunction(&client.spin, module, "spin_ns"), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuModuleGetFunction(&other, module, "other"), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(7 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuLaunchCooperativeKernel(other, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr),
              CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].end_ns - ops[0].start_ns, 7 * kMs);
  EXPECT_EQ(ops[1].end_ns - ops[1].start_ns, 1234567);
  EXPECT_EQ(ops[1].name, "other");
}

TEST(GpusimModules, LibrariesAndJitter) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    ASSERT_EQ(cuda.cuLibraryLoadData(&library, "kernel varied ns=1000000 jitter=0.1\n", nullptr,
                                     nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
    ASSERT_EQ(cuda.cuLibraryGetKernel(&kernel, library, "varied"), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuKernelGetFunction(&function, kernel), CUDA_SUCCESS);
    CUlaunchConfig config = {1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, 0};
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(cuda.cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuda.cuLibraryUnload(library), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuLaunchKernelEx(&config, function, nullptr, nullptr),
              CUDA_ERROR_INVALID_HANDLE);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 20U);
  int64_t shortest = INT64_MAX;
  int64_t longest = 0;
  for (const ScheduledOp& op : ops) {
    shortest = std::min(shortest, op.end_ns - op.start_ns);
    longest = std::max(longest, op.end_ns - op.start_ns);
  }
  EXPECT_GE(shortest, 900'000);
  EXPECT_LE(longest, 1'100'000);
  EXPECT_GT(longest - shortest, 100'000);
}

TEST(GpusimFaults, MemoryEndsWhereItIsTold) {
  Daemon daemon;
  const Environment limit("GPUSIM_OOM_AFTER_BYTES", "1000");
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&first, 900), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&second, 200), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuda.cuMemAllocManaged(&second, 200, 1), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuda.cuMemAllocAsync(&second, 200, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(cuda.cuMemFree_v2(first), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&second, 200), CUDA_SUCCESS);
  });
}

TEST(GpusimFaults, OneLaunchFails) {
  Daemon daemon;
  const Environment fails("GPUSIM_FAIL_LAUNCH", "2");
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(kMs), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs), CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(client.launch(kMs), CUDA_SUCCESS);
  });
  EXPECT_EQ(daemon.schedule().size(), 2U);
}

struct SlowReport {
  int64_t context_ns;
  int64_t primary_ns;
  int64_t second_free_ns;
};

TEST(GpusimFaults, ContextsAndFreesTakeTheirTime) {
  Daemon daemon;
  const Environment context_ms("GPUSIM_CONTEXT_MS", "150");
  const Environment stall("GPUSIM_STALL_FREE", "2:120");
  Reported<SlowReport> report;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    int64_t before = now_ns();
    CUcontext context = nullptr;
    EXPECT_EQ(cuda.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    report->context_ns = now_ns() - before;
    before = now_ns();
    CUcontext primary = nullptr;
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    report->primary_ns = now_ns() - before;
    CUdeviceptr memory[2] = {};
    for (CUdeviceptr& one : memory) EXPECT_EQ(cuda.cuMemAlloc_v2(&one, 16), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemFree_v2(memory[0]), CUDA_SUCCESS);
    before = now_ns();
    EXPECT_EQ(cuda.cuMemFree_v2(memory[1]), CUDA_SUCCESS);
    report->second_free_ns = now_ns() - before;
  });
  EXPECT_GE(report->context_ns, 150 * kMs);
  EXPECT_GE(report->primary_ns, 150 * kMs);
  EXPECT_GE(report->second_free_ns, 120 * kMs);
}

TEST(GpusimFaults, HalfClocksDoubleKernelsOnly) {
  Daemon daemon({"--half-clocks-after-ms", "0", "--d2d-gbps", "1"});
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    CUdeviceptr memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 1000), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(3 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemsetD8_v2(memory, 0, 1000), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].end_ns - ops[0].start_ns, 6 * kMs);
  EXPECT_EQ(ops[1].end_ns - ops[1].start_ns, 1000 + 1000);
}

TEST(GpusimFaults, HalfClocksCountFromTheirTime) {
  Daemon daemon({"--half-clocks-after-ms", "500000000"});
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(3 * kMs), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].end_ns - ops[0].start_ns, 3 * kMs);
}

TEST(GpusimInjection, LibraryIsInitialisedBeforeTheProgramGoesOn) {
  Daemon daemon;
  const Environment path("CUDA_INJECTION64_PATH", GPUSIM_INJECTION);
  run_client(daemon.dir(), [](const Cuda& cuda) {
    EXPECT_EQ(std::getenv("GPUSIM_TEST_INJECTED"), nullptr);
    EXPECT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    // It ran once, with the driver ready.
    EXPECT_STREQ(std::getenv("GPUSIM_TEST_INJECTED"), "1 device");
    EXPECT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    EXPECT_STREQ(std::getenv("GPUSIM_TEST_INJECTED"), "1 device");
  });
}

TEST(GpusimInjection, MissingLibraryIsNoError) {
  Daemon daemon;
  const Environment path("CUDA_INJECTION64_PATH", "/nonexistent.so");
  run_client(daemon.dir(), [](const Cuda& cuda) { EXPECT_EQ(cuda.cuInit(0), CUDA_SUCCESS); });
}

}  // namespace
}  // namespace gpusim::testing
