// SPDX-License-Identifier: Apache-2.0
// Memory and copies. Bytes move during the call, in the caller; the planned times do not depend on
// it. As with the real driver, a copy into pageable host memory is synchronous, and one out of it
// returns once the bytes are out of the source.
#include <cstring>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;
using gpusim::now_ns;
using gpusim::Operation;
using gpusim::OpKind;
using gpusim::Wait;

namespace {

enum class Return { kSubmitted, kDone };

void* pointer_of(CUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);
}

bool on_device(Driver& driver, CUdeviceptr pointer, size_t bytes) {
  const std::lock_guard guard(driver.mutex);
  return driver.memory.device_range(pointer_of(pointer), bytes);
}

bool pinned(Driver& driver, const void* pointer, size_t bytes) {
  const std::lock_guard guard(driver.mutex);
  return driver.memory.pinned_range(pointer, bytes);
}

template <typename Move>
CUresult submit(Driver& driver, CUstream stream, const Operation& operation, Return when,
                const Move& move) {
  if (operation.bytes == 0) return CUDA_SUCCESS;
  Wait end;
  const CUresult result = driver.submit(stream, operation, &end);
  if (result != CUDA_SUCCESS) return result;
  move();
  if (when == Return::kDone) gpusim::wait_for(end);
  return CUDA_SUCCESS;
}

CUresult copy_in(int64_t entry, CUdeviceptr to, const void* from, size_t bytes, CUstream stream,
                 Return when) {
  return call([&](Driver& driver) {
    if (!on_device(driver, to, bytes) || !from) return CUDA_ERROR_INVALID_VALUE;
    return submit(driver, stream, {OpKind::kHostToDevice, entry, bytes, 0, "memcpy HtoD"}, when,
                  [&] { std::memcpy(pointer_of(to), from, bytes); });
  });
}

CUresult copy_out(int64_t entry, void* to, CUdeviceptr from, size_t bytes, CUstream stream,
                  Return when) {
  return call([&](Driver& driver) {
    if (!on_device(driver, from, bytes) || !to) return CUDA_ERROR_INVALID_VALUE;
    return submit(driver, stream, {OpKind::kDeviceToHost, entry, bytes, 0, "memcpy DtoH"},
                  pinned(driver, to, bytes) ? when : Return::kDone,
                  [&] { std::memcpy(to, pointer_of(from), bytes); });
  });
}

CUresult allocate_pinned(void** pointer, size_t bytes) {
  return call([&](Driver& driver) {
    if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    if (!driver.current()) return CUDA_ERROR_INVALID_CONTEXT;
    *pointer = driver.memory.allocate_pinned(bytes);
    return *pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

}  // namespace

extern "C" {

CUresult sim_cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  return call([&](Driver& driver) {
    if (!pointer || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    if (!driver.current()) return CUDA_ERROR_INVALID_CONTEXT;
    void* memory = driver.memory.allocate_device(bytes, driver.device().memory_bytes);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    *pointer = reinterpret_cast<CUdeviceptr>(memory);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuMemFree_v2(CUdeviceptr pointer) {
  return call([&](Driver& driver) {
    if (pointer == 0) return CUDA_SUCCESS;
    std::unique_lock guard(driver.mutex);
    const gpusim::Context* context = driver.current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!driver.memory.device_range(pointer_of(pointer), 1)) return CUDA_ERROR_INVALID_VALUE;
    // A free waits for the device: pending work may still use the memory.
    const Wait wait = {context->all_ns, context->sync_mode};
    guard.unlock();
    gpusim::wait_for(wait);
    guard.lock();
    return driver.memory.free_device(pointer_of(pointer)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult sim_cuMemHostAlloc(void** pointer, size_t bytes, unsigned int) {
  return allocate_pinned(pointer, bytes);
}

CUresult sim_cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return allocate_pinned(pointer, bytes);
}

CUresult sim_cuMemFreeHost(void* pointer) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.memory.free_pinned(pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copy_in(now_ns(), to, from, bytes, nullptr, Return::kDone);
}

CUresult sim_cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy_out(now_ns(), to, from, bytes, nullptr, Return::kDone);
}

CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy_in(now_ns(), to, from, bytes, stream, Return::kSubmitted);
}

CUresult sim_cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_out(now_ns(), to, from, bytes, stream, Return::kSubmitted);
}

CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  const int64_t entry = now_ns();
  return call([&](Driver& driver) {
    if (!on_device(driver, to, bytes) || !on_device(driver, from, bytes)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return submit(driver, stream, {OpKind::kDeviceToDevice, entry, bytes, 0, "memcpy DtoD"},
                  Return::kSubmitted,
                  [&] { std::memmove(pointer_of(to), pointer_of(from), bytes); });
  });
}

CUresult sim_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  const int64_t entry = now_ns();
  return call([&](Driver& driver) {
    if (!on_device(driver, to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return submit(driver, stream, {OpKind::kMemset, entry, bytes, 0, "memset"}, Return::kSubmitted,
                  [&] { std::memset(pointer_of(to), value, bytes); });
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuMemAlloc_v2);
GPUSIM_EXPORT(cuMemFree_v2);
GPUSIM_EXPORT(cuMemHostAlloc);
GPUSIM_EXPORT(cuMemAllocHost_v2);
GPUSIM_EXPORT(cuMemFreeHost);
GPUSIM_EXPORT(cuMemcpyHtoD_v2);
GPUSIM_EXPORT(cuMemcpyDtoH_v2);
GPUSIM_EXPORT(cuMemcpyHtoDAsync_v2);
GPUSIM_EXPORT(cuMemcpyDtoHAsync_v2);
GPUSIM_EXPORT(cuMemcpyDtoDAsync_v2);
GPUSIM_EXPORT(cuMemsetD8Async);
