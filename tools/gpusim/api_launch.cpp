// SPDX-License-Identifier: Apache-2.0
// Kernel launches.
#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;
using gpusim::now_ns;
using gpusim::OpKind;

namespace {

CUresult launch(int64_t entry, CUfunction function, const CUlaunchConfig& config, void** params) {
  return call([&](Driver& driver) {
    if (!config.gridDimX || !config.gridDimY || !config.gridDimZ || !config.blockDimX ||
        !config.blockDimY || !config.blockDimZ) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    gpusim::Operation operation = {OpKind::kKernel, entry, 0, 0, {}, {}};
    {
      const std::lock_guard guard(driver.mutex);
      gpusim::Function* kernel = driver.modules.function(function);
      if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
      const auto duration = kernel->duration(params);
      if (!duration) return CUDA_ERROR_INVALID_VALUE;
      operation.least_ns = *duration;
      operation.name = kernel->name;
    }
    if (driver.faults.launch_fails()) return CUDA_ERROR_LAUNCH_FAILED;
    return driver.submit(config.hStream, operation, nullptr);
  });
}

}  // namespace

extern "C" {

CUresult sim_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                            unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                            unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                            void** params, void**) {
  const int64_t entry = now_ns();
  return launch(
      entry, function,
      {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0},
      params);
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params,
                              void**) {
  const int64_t entry = now_ns();
  return config ? launch(entry, function, *config, params) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
                                       unsigned int grid_y, unsigned int grid_z,
                                       unsigned int block_x, unsigned int block_y,
                                       unsigned int block_z, unsigned int shared_bytes,
                                       CUstream stream, void** params) {
  const int64_t entry = now_ns();
  return launch(
      entry, function,
      {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0},
      params);
}

}  // extern "C"

GPUSIM_EXPORT_TWIN(cuLaunchKernel, _ptsz);
GPUSIM_EXPORT_TWIN(cuLaunchKernelEx, _ptsz);
GPUSIM_EXPORT_TWIN(cuLaunchCooperativeKernel, _ptsz);
