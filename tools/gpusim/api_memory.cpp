// SPDX-License-Identifier: Apache-2.0
// Allocations.
#include <algorithm>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Context;
using gpusim::Driver;
using gpusim::MemoryBlock;
using gpusim::MemoryKind;
using gpusim::now_ns;
using gpusim::Operation;
using gpusim::OpKind;
using gpusim::Wait;
using gpusim::When;

namespace {

void* pointer_of(CUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);
}

CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

uint64_t memory_limit(Driver& driver, const Context& context) {
  return std::min(driver.device(context).shared->config().memory_bytes, driver.faults.memory_bytes);
}

CUresult allocate(int64_t entry, void** pointer, size_t bytes, MemoryKind kind) {
  return call([&](Driver& driver) {
    if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    std::unique_lock guard(driver.mutex);
    const Context* context = driver.current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    const int64_t cost_ns = driver.device(*context).shared->config().alloc_cost_ns;
    *pointer = driver.memory.allocate(kind, bytes, memory_limit(driver, *context), context->device,
                                      context->id);
    driver.publish_memory(context->device);
    guard.unlock();
    gpusim::burn_until(entry + cost_ns);
    return *pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

CUresult allocate(int64_t entry, CUdeviceptr* pointer, size_t bytes, MemoryKind kind) {
  void* memory = nullptr;
  const CUresult result = allocate(entry, pointer ? &memory : nullptr, bytes, kind);
  if (result == CUDA_SUCCESS) *pointer = address_of(memory);
  return result;
}

CUresult allocate_async(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  return call([&](Driver& driver) {
    if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    gpusim::Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    if (target->capture) return CUDA_ERROR_NOT_SUPPORTED;
    const Context& context = *target->context;
    When after = gate(*target);
    void* memory = driver.memory.allocate_async(bytes, memory_limit(driver, context),
                                                context.device, context.id, &after);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    target->extend(after);
    driver.publish_memory(context.device);
    *pointer = address_of(memory);
    return CUDA_SUCCESS;
  });
}

// Pages move to the device or back: what is there already moves once more here.
CUresult prefetch(int64_t entry, CUdeviceptr pointer, size_t bytes, bool to_host, CUstream stream) {
  return call([&](Driver& driver) {
    {
      const std::lock_guard guard(driver.mutex);
      const MemoryBlock* block = driver.memory.find(pointer_of(pointer), bytes);
      if (!block || block->kind != MemoryKind::kManaged) return CUDA_ERROR_INVALID_VALUE;
    }
    const OpKind kind = to_host ? OpKind::kDeviceToHost : OpKind::kHostToDevice;
    return driver.submit(stream, {kind, entry, bytes, 0, "prefetch", {}}, nullptr);
  });
}

CUresult free_device(Driver& driver, CUdeviceptr pointer) {
  std::unique_lock guard(driver.mutex);
  const Context* context = driver.current();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  const uint32_t device = context->device;
  const MemoryBlock* block = driver.memory.find(pointer_of(pointer), 1);
  if (!block || !block->on_device()) return CUDA_ERROR_INVALID_VALUE;
  // A free waits for the device: pending work may still use the memory.
  const Wait wait = {end_of(*context), context->sync_mode};
  guard.unlock();
  gpusim::wait_for(wait);
  if (driver.faults.free_stalls()) gpusim::burn_until(now_ns() + driver.faults.stall_ns);
  guard.lock();
  const bool freed =
      driver.memory.release(pointer_of(pointer), MemoryKind::kDevice, MemoryKind::kManaged);
  driver.publish_memory(device);
  return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult pointer_attribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer,
                           Driver& driver) {
  const std::lock_guard guard(driver.mutex);
  const MemoryBlock* block = driver.memory.find(pointer_of(pointer), 1);
  if (!block) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) =
          reinterpret_cast<CUcontext>(driver.find_context(block->context));
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned int*>(data) =
          block->on_device() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(data) = pointer;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (block->on_device() && block->kind != MemoryKind::kManaged) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      *static_cast<void**>(data) = pointer_of(pointer);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned int*>(data) = block->kind == MemoryKind::kManaged;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = static_cast<int>(block->device);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = block->base;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(data) = block->bytes;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

extern "C" {

CUresult sim_cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  return call([&](Driver& driver) {
    if (!free_bytes || !total_bytes) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    const Context* context = driver.current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    *total_bytes = driver.device(*context).shared->config().memory_bytes;
    *free_bytes = *total_bytes - driver.memory.device_bytes(context->device);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  return allocate(now_ns(), pointer, bytes, MemoryKind::kDevice);
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                                unsigned int) {
  constexpr size_t kPitch = 512;
  const int64_t entry = now_ns();
  if (!pitch || width > SIZE_MAX - kPitch) return CUDA_ERROR_INVALID_VALUE;
  const size_t rounded = (width + kPitch - 1) / kPitch * kPitch;
  if (height == 0 || rounded > SIZE_MAX / height) return CUDA_ERROR_INVALID_VALUE;
  *pitch = rounded;
  return allocate(entry, pointer, rounded * height, MemoryKind::kDevice);
}

CUresult sim_cuMemAllocManaged(CUdeviceptr* pointer, size_t bytes, unsigned int) {
  return allocate(now_ns(), pointer, bytes, MemoryKind::kManaged);
}

CUresult sim_cuMemFree_v2(CUdeviceptr pointer) {
  return call(
      [&](Driver& driver) { return pointer == 0 ? CUDA_SUCCESS : free_device(driver, pointer); });
}

CUresult sim_cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  return allocate_async(pointer, bytes, stream);
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t bytes, CUmemoryPool pool,
                                     CUstream stream) {
  return pool ? allocate_async(pointer, bytes, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    const gpusim::Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    if (target->capture) return CUDA_ERROR_NOT_SUPPORTED;
    return driver.memory.free_async(pointer_of(pointer), gate(*target)) ? CUDA_SUCCESS
                                                                        : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult sim_cuMemHostAlloc(void** pointer, size_t bytes, unsigned int) {
  return allocate(now_ns(), pointer, bytes, MemoryKind::kPinned);
}

CUresult sim_cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return allocate(now_ns(), pointer, bytes, MemoryKind::kPinned);
}

CUresult sim_cuMemFreeHost(void* pointer) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.memory.release(pointer, MemoryKind::kPinned, MemoryKind::kPinned)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult sim_cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int) {
  const int64_t entry = now_ns();
  return call([&](Driver& driver) {
    if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    std::unique_lock guard(driver.mutex);
    const Context* context = driver.current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    const int64_t cost_ns = driver.device(*context).shared->config().alloc_cost_ns;
    const bool added = driver.memory.add({reinterpret_cast<uintptr_t>(pointer), bytes,
                                          MemoryKind::kRegistered, context->device, context->id});
    guard.unlock();
    gpusim::burn_until(entry + cost_ns);
    return added ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  });
}

CUresult sim_cuMemHostUnregister(void* pointer) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.memory.release(pointer, MemoryKind::kRegistered, MemoryKind::kRegistered)
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  });
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr* device_pointer, void* pointer,
                                          unsigned int flags) {
  return call([&](Driver& driver) {
    if (!device_pointer || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    const MemoryBlock* block = driver.memory.find(pointer, 1);
    if (!block || block->on_device()) return CUDA_ERROR_INVALID_VALUE;
    *device_pointer = address_of(pointer);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUdevice device,
                                CUstream stream) {
  return prefetch(now_ns(), pointer, bytes, device == CU_DEVICE_CPU, stream);
}

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr pointer, size_t bytes, CUmemLocation location,
                                   unsigned int, CUstream stream) {
  return prefetch(now_ns(), pointer, bytes, location.type != CU_MEM_LOCATION_TYPE_DEVICE, stream);
}

CUresult sim_cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return call([&](Driver& driver) {
    return data ? pointer_attribute(data, attribute, pointer, driver) : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuMemGetInfo_v2);
GPUSIM_EXPORT(cuMemAlloc_v2);
GPUSIM_EXPORT(cuMemAllocPitch_v2);
GPUSIM_EXPORT(cuMemAllocManaged);
GPUSIM_EXPORT(cuMemFree_v2);
GPUSIM_EXPORT_TWIN(cuMemAllocAsync, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemAllocFromPoolAsync, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemFreeAsync, _ptsz);
GPUSIM_EXPORT(cuMemHostAlloc);
GPUSIM_EXPORT(cuMemAllocHost_v2);
GPUSIM_EXPORT(cuMemFreeHost);
GPUSIM_EXPORT(cuMemHostRegister_v2);
GPUSIM_EXPORT(cuMemHostUnregister);
GPUSIM_EXPORT(cuMemHostGetDevicePointer_v2);
GPUSIM_EXPORT_TWIN(cuMemPrefetchAsync, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemPrefetchAsync_v2, _ptsz);
GPUSIM_EXPORT(cuPointerGetAttribute);
