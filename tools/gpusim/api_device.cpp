// SPDX-License-Identifier: Apache-2.0
// Initialisation and devices.
#include <cstdio>
#include <cstring>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Context;
using gpusim::Driver;

namespace {

constexpr unsigned int kContextFlags = 0xff;

// Body of a call about one device.
template <typename Body>
CUresult about(CUdevice device, const void* out, const Body& body) {
  return call([&](Driver& driver) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (!driver.valid(device)) return CUDA_ERROR_INVALID_DEVICE;
    return body(driver);
  });
}

CUresult copy_text(char* to, int length, const char* text) {
  if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(to, static_cast<size_t>(length), "%s", text);
  return CUDA_SUCCESS;
}

int pci_field(const gpusim::DeviceConfig& config, int index) {
  unsigned int fields[3] = {};
  std::sscanf(config.pci_bus_id, "%x:%x:%x", &fields[0], &fields[1], &fields[2]);
  return static_cast<int>(fields[index]);
}

CUresult get_uuid(CUuuid* uuid, CUdevice device) {
  return about(device, uuid, [&](Driver& driver) {
    std::memcpy(uuid->bytes, driver.device(device).shared->memory().uuid, sizeof(uuid->bytes));
    return CUDA_SUCCESS;
  });
}

// A device has one pool; its handle is the ordinal, shifted off the null pointer.
CUresult get_pool(CUmemoryPool* pool, CUdevice device) {
  return about(device, pool, [&](Driver&) {
    *pool = reinterpret_cast<CUmemoryPool>(static_cast<uintptr_t>(device) + 1);
    return CUDA_SUCCESS;
  });
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
  return call([&](Driver& driver) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(driver.devices());
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuDeviceGet(CUdevice* device, int ordinal) {
  return about(ordinal, device, [&](Driver&) {
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuDeviceGetName(char* name, int length, CUdevice device) {
  return about(device, name,
               [&](Driver& driver) { return copy_text(name, length, driver.config(device).name); });
}

CUresult sim_cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return get_uuid(uuid, device);
}

CUresult sim_cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return get_uuid(uuid, device);
}

CUresult sim_cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return about(device, id, [&](Driver& driver) {
    return copy_text(id, length, driver.config(device).pci_bus_id);
  });
}

CUresult sim_cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return about(device, bytes, [&](Driver& driver) {
    *bytes = driver.config(device).memory_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return about(device, value, [&](Driver& driver) {
    switch (attribute) {
      case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        *value = 32;
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        *value = static_cast<int>(driver.config(device).compute_slots);
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        *value = pci_field(driver.config(device), 0);
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        *value = pci_field(driver.config(device), 1);
        return CUDA_SUCCESS;
      case CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID:
        *value = pci_field(driver.config(device), 2);
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
      case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
      case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
      case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
        *value = 1;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult sim_cuDeviceCanAccessPeer(int* able, CUdevice device, CUdevice peer) {
  return about(device, able, [&](Driver& driver) {
    if (!driver.valid(peer)) return CUDA_ERROR_INVALID_DEVICE;
    *able = device != peer;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return get_pool(pool, device);
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return get_pool(pool, device);
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const int64_t entry = gpusim::now_ns();
  return about(device, context, [&](Driver& driver) {
    std::unique_lock guard(driver.mutex);
    if (!driver.device(device).primary) {
      guard.unlock();
      gpusim::burn_until(entry + driver.faults.context_ns);
      guard.lock();
    }
    Context* primary = nullptr;
    const CUresult result = driver.retain_primary(device, &primary);
    if (result == CUDA_SUCCESS) *context = reinterpret_cast<CUcontext>(primary);
    return result;
  });
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return about(device, &device, [&](Driver& driver) {
    gpusim::Ending ending;
    std::unique_lock guard(driver.mutex);
    const CUresult result = driver.release_primary(device, &ending);
    guard.unlock();
    driver.finish(ending);
    return result;
  });
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
  return about(device, &device, [&](Driver& driver) {
    if ((flags & ~kContextFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    return driver.set_primary_flags(device, flags);
  });
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  return about(device, flags, [&](Driver& driver) {
    if (!active) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    const gpusim::Device& state = driver.device(device);
    *active = state.primary != nullptr;
    *flags = state.primary ? state.primary->flags : state.primary_flags;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuInit);
GPUSIM_EXPORT(cuDeviceGetCount);
GPUSIM_EXPORT(cuDeviceGet);
GPUSIM_EXPORT(cuDeviceGetName);
GPUSIM_EXPORT(cuDeviceGetUuid);
GPUSIM_EXPORT(cuDeviceGetUuid_v2);
GPUSIM_EXPORT(cuDeviceGetPCIBusId);
GPUSIM_EXPORT(cuDeviceTotalMem_v2);
GPUSIM_EXPORT(cuDeviceGetAttribute);
GPUSIM_EXPORT(cuDeviceCanAccessPeer);
GPUSIM_EXPORT(cuDeviceGetDefaultMemPool);
GPUSIM_EXPORT(cuDeviceGetMemPool);
GPUSIM_EXPORT(cuDevicePrimaryCtxRetain);
GPUSIM_EXPORT(cuDevicePrimaryCtxRelease_v2);
GPUSIM_EXPORT(cuDevicePrimaryCtxSetFlags_v2);
GPUSIM_EXPORT(cuDevicePrimaryCtxGetState);
