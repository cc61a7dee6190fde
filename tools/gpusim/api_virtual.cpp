// SPDX-License-Identifier: Apache-2.0
// Virtual memory management.
#include <algorithm>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;

extern "C" {

CUresult sim_cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                           int) {
  return call([&](Driver&) {
    if (!granularity || !prop) return CUDA_ERROR_INVALID_VALUE;
    *granularity = gpusim::kMappingGranularity;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuMemAddressReserve(CUdeviceptr* pointer, size_t bytes, size_t alignment,
                                 CUdeviceptr address, unsigned long long flags) {
  return call([&](Driver& driver) {
    if (!pointer || flags != 0 || alignment > gpusim::kMappingGranularity) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard guard(driver.mutex);
    uintptr_t base = 0;
    const CUresult result = driver.virtual_memory.reserve(bytes, address, &base);
    if (result == CUDA_SUCCESS) *pointer = base;
    return result;
  });
}

CUresult sim_cuMemAddressFree(CUdeviceptr pointer, size_t bytes) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.virtual_memory.free(pointer, bytes);
  });
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                         const CUmemAllocationProp* prop, unsigned long long flags) {
  const int64_t entry = gpusim::now_ns();
  return call([&](Driver& driver) {
    if (!handle || !prop || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const CUdevice device = prop->location.id;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !driver.valid(device)) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    const gpusim::DeviceConfig& config = driver.config(device);
    CUresult result = CUDA_SUCCESS;
    {
      const std::lock_guard guard(driver.mutex);
      const uint64_t limit = std::min(config.memory_bytes, driver.faults.memory_bytes);
      result = driver.virtual_memory.create(bytes, static_cast<uint32_t>(device), limit,
                                            driver.memory, handle);
      driver.publish_memory(static_cast<uint32_t>(device));
    }
    gpusim::burn_until(entry + config.alloc_cost_ns);
    return result;
  });
}

CUresult sim_cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return call([&](Driver& driver) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    return driver.virtual_memory.map(pointer, bytes, offset, handle, driver.memory);
  });
}

CUresult sim_cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.virtual_memory.unmap(pointer, bytes, driver.memory);
  });
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.virtual_memory.release(handle, driver.memory);
  });
}

CUresult sim_cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access,
                            size_t count) {
  return call([&](Driver& driver) {
    if (!access || count == 0 || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    bool any = false;
    for (size_t i = 0; i < count; ++i) any = any || access[i].flags != 0;
    const std::lock_guard guard(driver.mutex);
    return driver.virtual_memory.set_access(pointer, bytes, any, driver.memory);
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuMemGetAllocationGranularity);
GPUSIM_EXPORT(cuMemAddressReserve);
GPUSIM_EXPORT(cuMemAddressFree);
GPUSIM_EXPORT(cuMemCreate);
GPUSIM_EXPORT(cuMemMap);
GPUSIM_EXPORT(cuMemUnmap);
GPUSIM_EXPORT(cuMemRelease);
GPUSIM_EXPORT(cuMemSetAccess);
