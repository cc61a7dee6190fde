// SPDX-License-Identifier: Apache-2.0
// Allocations, copies and memsets of the simulated driver.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "shared_device.h"
#include "testing.h"

namespace gpusim::testing {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

int64_t thread_cpu_ns() {
  timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

CUdeviceptr allocate(const Cuda& cuda, size_t bytes) {
  CUdeviceptr device = 0;
  EXPECT_EQ(cuda.cuMemAlloc_v2(&device, bytes), CUDA_SUCCESS);
  return device;
}

struct CopyReport {
  int64_t pageable_returned_ns;
  int64_t pinned_returned_ns;
  int64_t staging_cpu_ns;
};

TEST(GpusimMemory, PageableUploadReturnsAfterStagingPinnedAtOnce) {
  // A megabyte takes 100 s on the way to the device and 105 ms into the staging memory.
  Daemon daemon({"--h2d-gbps", "0.00001", "--staging-gbps", "0.01"});
  Reported<CopyReport> report;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const CUdeviceptr device = allocate(cuda, kMegabyte);
    const std::vector<char> pageable(kMegabyte);
    void* pinned = nullptr;
    ASSERT_EQ(cuda.cuMemAllocHost_v2(&pinned, kMegabyte), CUDA_SUCCESS);
    const int64_t cpu = thread_cpu_ns();
    const CUstream first = client.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(device, pageable.data(), kMegabyte, first), CUDA_SUCCESS);
    report->pageable_returned_ns = now_ns();
    report->staging_cpu_ns = thread_cpu_ns() - cpu;
    const CUstream second = client.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(device, pinned, kMegabyte, second), CUDA_SUCCESS);
    report->pinned_returned_ns = now_ns();
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  const int64_t staging = static_cast<int64_t>(kMegabyte) * 100;
  EXPECT_EQ(ops[0].start_ns, soonest(ops[0]));
  EXPECT_GE(report->pageable_returned_ns, ops[0].api_ns + staging);
  EXPECT_LT(report->pageable_returned_ns, ops[0].end_ns);
  EXPECT_GT(report->staging_cpu_ns, kMs);
  EXPECT_LT(report->pinned_returned_ns, ops[1].end_ns);
}

TEST(GpusimMemory, PageableUploadIsNoFasterThanItsStaging) {
  Daemon daemon({"--h2d-gbps", "100", "--staging-gbps", "1"});
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const CUdeviceptr device = allocate(cuda, kMegabyte);
    const std::vector<char> pageable(kMegabyte);
    void* pinned = nullptr;
    ASSERT_EQ(cuda.cuMemAllocHost_v2(&pinned, kMegabyte), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(device, pageable.data(), kMegabyte), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(device, pinned, kMegabyte), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].end_ns - ops[0].start_ns, static_cast<int64_t>(kMegabyte) + 1'000);
  EXPECT_EQ(ops[1].end_ns - ops[1].start_ns, static_cast<int64_t>(kMegabyte) / 100 + 1'000);
}

TEST(GpusimMemory, RegisteredMemoryIsPinned) {
  Daemon daemon({"--d2h-gbps", "0.00001"});
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const CUdeviceptr device = allocate(cuda, kMegabyte);
    std::vector<char> host(kMegabyte);
    EXPECT_EQ(cuda.cuMemHostRegister_v2(host.data(), host.size(), 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemHostRegister_v2(host.data() + 1, 1, 0),
              CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    CUdeviceptr seen = 0;
    EXPECT_EQ(cuda.cuMemHostGetDevicePointer_v2(&seen, host.data(), 0), CUDA_SUCCESS);
    EXPECT_EQ(seen, reinterpret_cast<CUdeviceptr>(host.data()));
    // 100 s, which this does not wait for.
    EXPECT_EQ(cuda.cuMemcpyDtoHAsync_v2(host.data(), device, kMegabyte, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuda.cuMemHostUnregister(host.data()), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemHostUnregister(host.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  });
  EXPECT_EQ(daemon.schedule().size(), 1U);
}

TEST(GpusimMemory, DirectionFollowsThePointers) {
  Daemon daemon;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const CUdeviceptr one = allocate(cuda, 64);
    const CUdeviceptr two = allocate(cuda, 64);
    char text[64] = "the quick brown fox";
    char back[64] = {};
    char again[64] = {};
    const auto address = [](void* host) { return reinterpret_cast<CUdeviceptr>(host); };
    EXPECT_EQ(cuda.cuMemcpy(one, address(text), 64), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyDtoD_v2(two, one, 64), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyAsync(address(back), two, 64, nullptr), CUDA_SUCCESS);
    EXPECT_STREQ(back, text);
    // Between host memory nothing reaches the device.
    EXPECT_EQ(cuda.cuMemcpyAsync(address(again), address(back), 64, nullptr), CUDA_SUCCESS);
    EXPECT_STREQ(again, text);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(ops[0].kind, "h2d");
  EXPECT_EQ(ops[1].kind, "d2d");
  EXPECT_EQ(ops[2].kind, "d2h");
}

TEST(GpusimMemory, RowsAndWideValues) {
  Daemon daemon;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    CUdeviceptr image = 0;
    size_t pitch = 0;
    ASSERT_EQ(cuda.cuMemAllocPitch_v2(&image, &pitch, 6, 3, 4), CUDA_SUCCESS);
    ASSERT_GE(pitch, 6U);
    EXPECT_EQ(cuda.cuMemsetD8_v2(image, '.', pitch * 3), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemsetD16_v2(image, 0x6261, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemsetD32Async(image + pitch, 0x66656463, 1, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemsetD32Async(image + 1, 0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
    char host[19] = {};
    CUDA_MEMCPY2D rows = {};
    rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.srcDevice = image;
    rows.srcPitch = pitch;
    rows.dstMemoryType = CU_MEMORYTYPE_HOST;
    rows.dstHost = host;
    rows.dstPitch = 6;
    rows.WidthInBytes = 6;
    rows.Height = 3;
    EXPECT_EQ(cuda.cuMemcpy2D_v2(&rows), CUDA_SUCCESS);
    EXPECT_STREQ(host, "ab....cdef........");
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 4U);
  EXPECT_EQ(ops[2].bytes, 4U);
  EXPECT_EQ(ops[3].bytes, 18U);
  EXPECT_EQ(ops[3].kind, "d2h");
}

TEST(GpusimMemory, FreeWaitsForTheDeviceAsyncFreeForItsStream) {
  Daemon daemon({"--memory-gib", "0.001"});
  Reported<int64_t> freed;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    constexpr size_t kMost = 600 << 10;
    const CUstream busy = client.stream(CU_STREAM_NON_BLOCKING);
    const CUstream other = client.stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    ASSERT_EQ(cuda.cuMemAllocAsync(&first, kMost, busy), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(1000 * kMs, busy), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemFreeAsync(first, busy), CUDA_SUCCESS);
    // Still in use as far as the device is concerned.
    EXPECT_EQ(cuda.cuMemAlloc_v2(&second, kMost), CUDA_ERROR_OUT_OF_MEMORY);
    // In stream order it can be had, behind the kernel.
    EXPECT_EQ(cuda.cuMemAllocAsync(&second, kMost, other), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs, other), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemFree_v2(second), CUDA_SUCCESS);
    *freed = now_ns();
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    EXPECT_EQ(cuda.cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
    EXPECT_EQ(free_bytes, total_bytes);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[1].start_ns, std::max(soonest(ops[1]), ops[0].end_ns));
  EXPECT_GE(*freed, ops[1].end_ns);
}

TEST(GpusimMemory, ManagedMemoryMovesWhenItIsPrefetched) {
  Daemon daemon;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    CUdeviceptr managed = 0;
    ASSERT_EQ(cuda.cuMemAllocManaged(&managed, kMegabyte, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    std::memset(reinterpret_cast<void*>(managed), 1, kMegabyte);
    EXPECT_EQ(cuda.cuMemPrefetchAsync(managed, kMegabyte, 0, nullptr), CUDA_SUCCESS);
    const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    EXPECT_EQ(cuda.cuMemPrefetchAsync_v2(managed, kMegabyte, host, 0, nullptr), CUDA_SUCCESS);
    unsigned int is_managed = 0;
    EXPECT_EQ(cuda.cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed),
              CUDA_SUCCESS);
    EXPECT_EQ(is_managed, 1U);
    const CUdeviceptr device = allocate(cuda, 64);
    EXPECT_EQ(cuda.cuMemPrefetchAsync(device, 64, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
    int ordinal = -1;
    EXPECT_EQ(cuda.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device),
              CUDA_SUCCESS);
    EXPECT_EQ(ordinal, 0);
    EXPECT_EQ(cuda.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 64),
              CUDA_ERROR_INVALID_VALUE);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].kind, "h2d");
  EXPECT_EQ(ops[1].kind, "d2h");
  EXPECT_EQ(ops[1].name, "prefetch");
}

TEST(GpusimMemory, MappedMemoryIsDeviceMemoryWhileItIsMapped) {
  Daemon daemon({"--memory-gib", "0.01"});
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    CUmemAllocationProp prop = {};
    prop.type = 1;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    size_t unit = 0;
    ASSERT_EQ(cuda.cuMemGetAllocationGranularity(&unit, &prop, 0), CUDA_SUCCESS);
    CUdeviceptr range = 0;
    ASSERT_EQ(cuda.cuMemAddressReserve(&range, 2 * unit, 0, 0, 0), CUDA_SUCCESS);
    CUmemGenericAllocationHandle physical = 0;
    EXPECT_EQ(cuda.cuMemCreate(&physical, 100 * unit, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    ASSERT_EQ(cuda.cuMemCreate(&physical, unit, &prop, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemMap(range + unit, unit, 0, physical, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemMap(range + unit, unit, 0, physical, 0), CUDA_ERROR_INVALID_VALUE);
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, 3};
    EXPECT_EQ(cuda.cuMemSetAccess(range, unit, &access, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.cuMemSetAccess(range + unit, unit, &access, 1), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemRelease(physical), CUDA_SUCCESS);
    char back[4] = {};
    EXPECT_EQ(cuda.cuMemsetD8_v2(range + unit, 'x', unit), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(back, range + 2 * unit - 3, 3), CUDA_SUCCESS);
    EXPECT_STREQ(back, "xxx");
    EXPECT_EQ(cuda.cuMemsetD8_v2(range, 'x', 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.cuMemAddressFree(range, 2 * unit), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.cuMemUnmap(range + unit, unit), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemsetD8_v2(range + unit, 'x', 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.cuMemAddressFree(range, 2 * unit), CUDA_SUCCESS);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    EXPECT_EQ(cuda.cuMemGetInfo_v2(&free_bytes, &total_bytes), CUDA_SUCCESS);
    EXPECT_EQ(free_bytes, total_bytes);
  });
  EXPECT_EQ(daemon.schedule().size(), 2U);
}

TEST(GpusimMemory, UseIsPublished) {
  Daemon daemon;
  SharedDevice device;
  ASSERT_TRUE(device.open(daemon.dir()));
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const auto used = [&] {
      uint64_t bytes = 0;
      for (const auto& of_client : device.memory().client_bytes) bytes += of_client;
      return bytes;
    };
    const CUdeviceptr memory = allocate(cuda, kMegabyte);
    EXPECT_EQ(used(), kMegabyte);
    EXPECT_EQ(cuda.cuMemFree_v2(memory), CUDA_SUCCESS);
    EXPECT_EQ(used(), 0U);
    allocate(cuda, kMegabyte);
    EXPECT_EQ(cuda.cuCtxDestroy_v2(client.context), CUDA_SUCCESS);
    EXPECT_EQ(used(), 0U);
  });
}

}  // namespace
}  // namespace gpusim::testing
