// SPDX-License-Identifier: Apache-2.0
// Modules and launches.
#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;
using gpusim::now_ns;
using gpusim::OpKind;

extern "C" {

CUresult sim_cuModuleLoadData(CUmodule* module, const void* image) {
  return call([&](Driver& driver) {
    if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
    auto parsed = gpusim::parse_image(static_cast<const char*>(image));
    if (!parsed) return CUDA_ERROR_INVALID_IMAGE;
    const std::lock_guard guard(driver.mutex);
    if (!driver.current()) return CUDA_ERROR_INVALID_CONTEXT;
    *module = driver.modules.load(std::move(*parsed));
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return call([&](Driver& driver) {
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    return driver.modules.find(module, name, function);
  });
}

CUresult sim_cuModuleUnload(CUmodule module) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.modules.unload(module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult sim_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                            unsigned int block_z, unsigned int, CUstream stream, void** params,
                            void**) {
  const int64_t entry = now_ns();
  return call([&](Driver& driver) {
    if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::unique_lock guard(driver.mutex);
    const gpusim::Function* kernel = driver.modules.function(function);
    guard.unlock();
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    const auto duration = kernel->duration(params);
    if (!duration) return CUDA_ERROR_INVALID_VALUE;
    return driver.submit(stream, {OpKind::kKernel, entry, 0, *duration, kernel->name.c_str()},
                         nullptr);
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuModuleLoadData);
GPUSIM_EXPORT(cuModuleGetFunction);
GPUSIM_EXPORT(cuModuleUnload);
GPUSIM_EXPORT(cuLaunchKernel);
