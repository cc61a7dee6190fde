// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <time.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cuda_functions.h"

namespace evidence {

// The programs are measuring sticks: a call that went wrong must not be carried on from.
[[noreturn, gnu::format(printf, 1, 2)]] inline void die(const char* format, ...) {
  std::va_list args;
  va_start(args, format);
  std::vfprintf(stderr, format, args);
  std::fputc('\n', stderr);
  va_end(args);
  std::exit(1);
}

inline std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// clang-format off
#define EVIDENCE_CALLS(CALL)                                                                      \
  CALL(cuInit) CALL(cuDeviceGet) CALL(cuDevicePrimaryCtxRetain)                                   \
  CALL(cuDevicePrimaryCtxSetFlags_v2) CALL(cuCtxSetCurrent) CALL(cuCtxSynchronize)                \
  CALL(cuModuleLoadData) CALL(cuModuleGetFunction) CALL(cuStreamCreate) CALL(cuStreamSynchronize) \
  CALL(cuStreamQuery)                                                                             \
  CALL(cuStreamWaitEvent) CALL(cuEventCreate) CALL(cuEventRecord) CALL(cuEventQuery)              \
  CALL(cuEventSynchronize) CALL(cuMemAlloc_v2) CALL(cuMemHostAlloc) CALL(cuMemcpyHtoDAsync_v2)    \
  CALL(cuMemcpyDtoHAsync_v2) CALL(cuLaunchKernel)
// clang-format on

// The driver, found by dlopen("libcuda.so.1"), with the primary context of the first device, and a
// kernel that lasts as long as its argument says.
struct Device {
#define EVIDENCE_MEMBER(name) decltype(&::name) name = nullptr;
  EVIDENCE_CALLS(EVIDENCE_MEMBER)
#undef EVIDENCE_MEMBER
  CUfunction kernel = nullptr;

  explicit Device(unsigned flags = CU_CTX_SCHED_AUTO) {
    // RTLD_NOW: a symbol bound at its first call would cost a page fault inside the loop.
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) die("%s", dlerror());
#define EVIDENCE_FIND(name) \
  if (!(name = reinterpret_cast<decltype(name)>(dlsym(library, #name)))) die("no " #name);
    EVIDENCE_CALLS(EVIDENCE_FIND)
#undef EVIDENCE_FIND
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    check(cuInit(0));
    check(cuDeviceGet(&device, 0));
    check(cuDevicePrimaryCtxSetFlags_v2(device, flags));
    check(cuDevicePrimaryCtxRetain(&context, device));
    check(cuCtxSetCurrent(context));
    check(cuModuleLoadData(&module, "kernel step_ns\n"));
    check(cuModuleGetFunction(&kernel, module, "step_ns"));
  }

  static void check(CUresult result) {
    if (result != CUDA_SUCCESS) die("the driver said %d", result);
  }

  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) const {
    CUstream made = nullptr;
    check(cuStreamCreate(&made, flags));
    return made;
  }
  CUevent event() const {
    CUevent made = nullptr;
    check(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
    return made;
  }
  CUdeviceptr memory(std::size_t bytes) const {
    CUdeviceptr made = 0;
    check(cuMemAlloc_v2(&made, bytes));
    return made;
  }
  char* pinned(std::size_t bytes) const {
    void* made = nullptr;
    check(cuMemHostAlloc(&made, bytes, 0));
    return static_cast<char*>(made);
  }
  void launch(CUstream on, std::int64_t ns) const {
    auto duration = static_cast<std::uint64_t>(ns);
    void* arguments[] = {&duration};
    check(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, on, arguments, nullptr));
  }
};

}  // namespace evidence
