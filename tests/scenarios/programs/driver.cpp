// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>

#include "die.h"

namespace loop {
namespace {

template <typename Function>
Function symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) die("libcuda.so.1 lacks %s", name);
  return reinterpret_cast<Function>(found);
}

void check(int result, const char* call) {
  if (result != 0) die("%s failed with CUDA error %d", call, result);
}

}  // namespace

Driver::Driver() {
  // RTLD_NOW: a symbol bound at its first call would cost a page fault inside the loop.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) die("%s", dlerror());

  // Device and handle types as in cuda.h: CUdevice is an int, the others are pointers.
  check(symbol<int (*)(unsigned)>(library, "cuInit")(0), "cuInit");
  int device = 0;
  check(symbol<int (*)(int*, int)>(library, "cuDeviceGet")(&device, 0), "cuDeviceGet");
  void* context = nullptr;
  check(symbol<int (*)(void**, int)>(library, "cuDevicePrimaryCtxRetain")(&context, device),
        "cuDevicePrimaryCtxRetain");
  check(symbol<int (*)(void*)>(library, "cuCtxSetCurrent")(context), "cuCtxSetCurrent");

  static constexpr char kImage[] = "kernel step_ns\n";
  void* module = nullptr;
  check(symbol<int (*)(void**, const void*)>(library, "cuModuleLoadData")(&module, kImage),
        "cuModuleLoadData");
  check(symbol<int (*)(void**, void*, const char*)>(library, "cuModuleGetFunction")(
            &kernel_, module, "step_ns"),
        "cuModuleGetFunction");

  launch_kernel_ = symbol<LaunchKernel>(library, "cuLaunchKernel");
  context_synchronize_ = symbol<ContextSynchronize>(library, "cuCtxSynchronize");
}

void Driver::launch(std::uint64_t duration_ns) {
  void* params[] = {&duration_ns};
  check(launch_kernel_(kernel_, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr), "cuLaunchKernel");
}

void Driver::synchronize() {
  check(context_synchronize_(), "cuCtxSynchronize");
}

}  // namespace loop
