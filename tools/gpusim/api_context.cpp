// SPDX-License-Identifier: Apache-2.0
// Devices and contexts.
#include <cstdio>
#include <cstring>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Context;
using gpusim::Driver;
using gpusim::SyncMode;
using gpusim::Wait;

namespace {

constexpr unsigned int kContextFlags = 0x1f;

SyncMode mode_of(unsigned int flags) {
  switch (flags & CU_CTX_SCHED_MASK) {
    case CU_CTX_SCHED_YIELD:
      return SyncMode::kYield;
    case CU_CTX_SCHED_BLOCKING_SYNC:
      return SyncMode::kBlocking;
    default:
      return SyncMode::kSpin;
  }
}

CUresult copy_text(char* to, int length, const char* text) {
  if (!to || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(to, static_cast<size_t>(length), "%s", text);
  return CUDA_SUCCESS;
}

int pci_field(const Driver& driver, int index) {
  unsigned int fields[3] = {};
  std::sscanf(driver.device().pci_bus_id, "%x:%x:%x", &fields[0], &fields[1], &fields[2]);
  return static_cast<int>(fields[index]);
}

CUcontext handle_of(Context* context) {
  return reinterpret_cast<CUcontext>(context);
}
Context* context_of(CUcontext handle) {
  return reinterpret_cast<Context*>(handle);
}

}  // namespace

extern "C" {

// Compared by every exported entry; see export.h.
__attribute__((visibility("hidden"))) int gpusim_entry_guard = 0;

CUresult sim_cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  try {
    return Driver::get().init();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult sim_cuDeviceGetCount(int* count) {
  return call([&](Driver&) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuDeviceGet(CUdevice* device, int ordinal) {
  return call([&](Driver&) {
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuDeviceGetName(char* name, int length, CUdevice device) {
  return call([&](Driver& driver) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    return copy_text(name, length, driver.device().name);
  });
}

CUresult sim_cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return call([&](Driver& driver) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    return copy_text(id, length, driver.device().pci_bus_id);
  });
}

CUresult sim_cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return call([&](Driver& driver) {
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = driver.device().memory_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return call([&](Driver& driver) {
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
      case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        *value = 32;
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = static_cast<int>(driver.device().compute_slots);
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        *value = pci_field(driver, 0);
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *value = pci_field(driver, 1);
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        *value = pci_field(driver, 2);
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        *value = 2;
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = 9;
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return call([&](Driver& driver) {
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard guard(driver.mutex);
    Context* primary = nullptr;
    const CUresult result = driver.retain_primary(&primary);
    if (result == CUDA_SUCCESS) *context = handle_of(primary);
    return result;
  });
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return call([&](Driver& driver) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    Wait wait;
    std::unique_lock guard(driver.mutex);
    const CUresult result = driver.release_primary(&wait);
    guard.unlock();
    gpusim::wait_for(wait);
    return result;
  });
}

CUresult sim_cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return call([&](Driver& driver) {
    if (!context || (flags & ~kContextFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    const std::lock_guard guard(driver.mutex);
    Context* created = nullptr;
    const CUresult result = driver.create_context(mode_of(flags), &created);
    if (result != CUDA_SUCCESS) return result;
    Driver::set_current(created);
    *context = handle_of(created);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuCtxDestroy_v2(CUcontext context) {
  return call([&](Driver& driver) {
    Wait wait;
    std::unique_lock guard(driver.mutex);
    const CUresult result = driver.destroy_context(context_of(context), &wait);
    guard.unlock();
    gpusim::wait_for(wait);
    return result;
  });
}

CUresult sim_cuCtxSetCurrent(CUcontext context) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    if (context && !driver.known(context_of(context))) return CUDA_ERROR_INVALID_CONTEXT;
    Driver::set_current(context_of(context));
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuCtxGetCurrent(CUcontext* context) {
  return call([&](Driver& driver) {
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    *context = handle_of(driver.current());
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuCtxSynchronize(void) {
  return call([&](Driver& driver) {
    std::unique_lock guard(driver.mutex);
    const Context* context = driver.current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    const Wait wait = {context->all_ns, context->sync_mode};
    guard.unlock();
    gpusim::wait_for(wait);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuInit);
GPUSIM_EXPORT(cuDeviceGetCount);
GPUSIM_EXPORT(cuDeviceGet);
GPUSIM_EXPORT(cuDeviceGetName);
GPUSIM_EXPORT(cuDeviceGetPCIBusId);
GPUSIM_EXPORT(cuDeviceTotalMem_v2);
GPUSIM_EXPORT(cuDeviceGetAttribute);
GPUSIM_EXPORT(cuDevicePrimaryCtxRetain);
GPUSIM_EXPORT(cuDevicePrimaryCtxRelease_v2);
GPUSIM_EXPORT(cuCtxCreate_v2);
GPUSIM_EXPORT(cuCtxDestroy_v2);
GPUSIM_EXPORT(cuCtxSetCurrent);
GPUSIM_EXPORT(cuCtxGetCurrent);
GPUSIM_EXPORT(cuCtxSynchronize);
