// SPDX-License-Identifier: Apache-2.0
// Copies and memsets. Bytes move during the call, in the caller; the planned times do not depend on
// it. As with the real driver, a copy into pageable host memory is synchronous, and one out of it
// returns once the bytes are out of the source, which costs the caller's CPU time. What stays on
// the device is never waited for.
#include <algorithm>
#include <cstring>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;
using gpusim::MemoryBlock;
using gpusim::now_ns;
using gpusim::Operation;
using gpusim::OpKind;
using gpusim::Wait;

namespace {

enum class Form { kAsync, kSync };
enum class Side { kAny, kHost, kDevice };

// Rows of `width` bytes; of a linear copy there is one.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  size_t width = 0;
  size_t rows = 1;
  size_t to_pitch = 0;
  size_t from_pitch = 0;
  Side to_side = Side::kAny;
  Side from_side = Side::kAny;

  size_t to_extent() const { return (rows - 1) * to_pitch + width; }
  size_t from_extent() const { return (rows - 1) * from_pitch + width; }
};

void* pointer_of(CUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);
}

void move(const Copy& copy) {
  for (size_t row = 0; row < copy.rows; ++row) {
    std::memmove(static_cast<char*>(copy.to) + row * copy.to_pitch,
                 static_cast<const char*>(copy.from) + row * copy.from_pitch, copy.width);
  }
}

struct Place {
  bool valid;
  bool device;
  bool pinned;
  uint32_t ordinal;
};

Place place_of(Driver& driver, const void* pointer, size_t bytes, Side side) {
  const std::lock_guard guard(driver.mutex);
  const MemoryBlock* block = driver.memory.find(pointer, bytes);
  Place place = {pointer != nullptr, block && block->on_device(), block != nullptr,
                 block ? block->device : 0};
  // Memory that the driver manages is host memory as well.
  if (side == Side::kHost && place.device && block->kind == gpusim::MemoryKind::kManaged) {
    place.device = false;
  }
  if (side == Side::kHost && place.device) place.valid = false;
  if (side == Side::kDevice && !place.device) place.valid = false;
  return place;
}

CUresult copy_host_memory(Driver& driver, const Copy& copy, CUstream stream) {
  CUresult error = CUDA_SUCCESS;
  std::unique_lock guard(driver.mutex);
  const gpusim::Stream* target = driver.stream(stream, &error);
  if (!target) return error;
  const Wait wait = {end_of(*target), target->context->sync_mode};
  guard.unlock();
  gpusim::wait_for(wait);
  move(copy);
  return CUDA_SUCCESS;
}

// CPU time that pageable bytes cost on their way into the driver's staging memory.
int64_t staging_ns(Driver& driver, size_t bytes) {
  const std::lock_guard guard(driver.mutex);
  const gpusim::Context* context = driver.current();
  if (!context) return 0;
  const double rate = driver.device(*context).shared->config().staging_bytes_per_ns;
  return static_cast<int64_t>(static_cast<double>(bytes) / rate);
}

CUresult copy(int64_t entry, const Copy& copy, CUstream stream, Form form) {
  return call([&](Driver& driver) {
    if (copy.width == 0 || copy.rows == 0) return CUDA_SUCCESS;
    const Place to = place_of(driver, copy.to, copy.to_extent(), copy.to_side);
    const Place from = place_of(driver, copy.from, copy.from_extent(), copy.from_side);
    if (!to.valid || !from.valid) return CUDA_ERROR_INVALID_VALUE;
    if (!to.device && !from.device) return copy_host_memory(driver, copy, stream);

    Operation operation = {OpKind::kDeviceToDevice, entry, copy.width * copy.rows, 0, "memcpy DtoD",
                           [copy] { move(copy); }};
    bool wait = form == Form::kSync;
    int64_t staging = 0;
    if (!from.device) {
      operation.kind = OpKind::kHostToDevice;
      operation.name = "memcpy HtoD";
      if (!from.pinned) staging = staging_ns(driver, operation.bytes);
      operation.least_ns = staging;
    } else if (!to.device) {
      operation.kind = OpKind::kDeviceToHost;
      operation.name = "memcpy DtoH";
      wait = wait || !to.pinned;
    } else {
      wait = false;
      if (to.ordinal != from.ordinal) {
        operation.kind = OpKind::kPeer;
        operation.name = "memcpy PtoP";
      }
    }
    Wait end;
    bool captured = false;
    const CUresult result = driver.submit(stream, operation, &end, &captured);
    if (result != CUDA_SUCCESS || captured) return result;
    const int64_t begun = now_ns();
    operation.run();
    gpusim::burn_until(begun + staging);
    if (wait) gpusim::wait_for(end);
    return CUDA_SUCCESS;
  });
}

Copy linear(void* to, Side to_side, const void* from, Side from_side, size_t bytes) {
  return {to, from, bytes, 1, 0, 0, to_side, from_side};
}

// False: an array, or a kind of memory that there is not.
bool side_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t offset,
             const void** pointer, Side* side) {
  const char* base =
      static_cast<const char*>(type == CU_MEMORYTYPE_HOST ? host : pointer_of(device));
  *side = type == CU_MEMORYTYPE_HOST     ? Side::kHost
          : type == CU_MEMORYTYPE_DEVICE ? Side::kDevice
                                         : Side::kAny;
  *pointer = base + offset;
  return base && type != CU_MEMORYTYPE_ARRAY && type >= CU_MEMORYTYPE_HOST &&
         type <= CU_MEMORYTYPE_UNIFIED;
}

CUresult copy_2d(int64_t entry, const CUDA_MEMCPY2D* params, CUstream stream, Form form) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY2D& from = *params;
  Copy rows;
  const void* to = nullptr;
  rows.width = from.WidthInBytes;
  rows.rows = from.Height;
  rows.to_pitch = std::max(from.dstPitch, from.WidthInBytes);
  rows.from_pitch = std::max(from.srcPitch, from.WidthInBytes);
  if (!side_of(from.srcMemoryType, from.srcHost, from.srcDevice,
               from.srcY * rows.from_pitch + from.srcXInBytes, &rows.from, &rows.from_side) ||
      !side_of(from.dstMemoryType, from.dstHost, from.dstDevice,
               from.dstY * rows.to_pitch + from.dstXInBytes, &to, &rows.to_side)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  rows.to = const_cast<void*>(to);
  return copy(entry, rows, stream, form);
}

template <typename Value>
CUresult fill(int64_t entry, CUdeviceptr to, Value value, size_t count, CUstream stream) {
  return call([&](Driver& driver) {
    if (count == 0) return CUDA_SUCCESS;
    const size_t bytes = count * sizeof(Value);
    if (count > SIZE_MAX / sizeof(Value) || to % sizeof(Value) != 0 ||
        !place_of(driver, pointer_of(to), bytes, Side::kDevice).valid) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Operation operation = {
        OpKind::kMemset, entry,
        bytes,           0,
        "memset",        [=] { std::fill_n(reinterpret_cast<Value*>(to), count, value); }};
    bool captured = false;
    const CUresult result = driver.submit(stream, operation, nullptr, &captured);
    if (result == CUDA_SUCCESS && !captured) operation.run();
    return result;
  });
}

}  // namespace

extern "C" {

CUresult sim_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  const int64_t entry = now_ns();
  return copy(entry, linear(pointer_of(to), Side::kAny, pointer_of(from), Side::kAny, bytes),
              nullptr, Form::kSync);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  const int64_t entry = now_ns();
  return copy(entry, linear(pointer_of(to), Side::kAny, pointer_of(from), Side::kAny, bytes),
              stream, Form::kAsync);
}

CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  const int64_t entry = now_ns();
  return copy(entry, linear(pointer_of(to), Side::kDevice, from, Side::kHost, bytes), nullptr,
              Form::kSync);
}

CUresult sim_cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  const int64_t entry = now_ns();
  return copy(entry, linear(to, Side::kHost, pointer_of(from), Side::kDevice, bytes), nullptr,
              Form::kSync);
}

CUresult sim_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  const int64_t entry = now_ns();
  return copy(entry, linear(pointer_of(to), Side::kDevice, pointer_of(from), Side::kDevice, bytes),
              nullptr, Form::kSync);
}

CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  const int64_t entry = now_ns();
  return copy(entry, linear(pointer_of(to), Side::kDevice, from, Side::kHost, bytes), stream,
              Form::kAsync);
}

CUresult sim_cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  const int64_t entry = now_ns();
  return copy(entry, linear(to, Side::kHost, pointer_of(from), Side::kDevice, bytes), stream,
              Form::kAsync);
}

CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  const int64_t entry = now_ns();
  return copy(entry, linear(pointer_of(to), Side::kDevice, pointer_of(from), Side::kDevice, bytes),
              stream, Form::kAsync);
}

// Memory says itself which device it is on.
CUresult sim_cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  const int64_t entry = now_ns();
  return copy(entry, linear(pointer_of(to), Side::kDevice, pointer_of(from), Side::kDevice, bytes),
              nullptr, Form::kSync);
}

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                               CUstream stream) {
  const int64_t entry = now_ns();
  return copy(entry, linear(pointer_of(to), Side::kDevice, pointer_of(from), Side::kDevice, bytes),
              stream, Form::kAsync);
}

CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D* params) {
  return copy_2d(now_ns(), params, nullptr, Form::kSync);
}

CUresult sim_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* params) {
  return copy_2d(now_ns(), params, nullptr, Form::kSync);
}

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* params, CUstream stream) {
  return copy_2d(now_ns(), params, stream, Form::kAsync);
}

CUresult sim_cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return fill(now_ns(), to, value, count, nullptr);
}

CUresult sim_cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return fill(now_ns(), to, value, count, nullptr);
}

CUresult sim_cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
  return fill(now_ns(), to, value, count, nullptr);
}

CUresult sim_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill(now_ns(), to, value, count, stream);
}

CUresult sim_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill(now_ns(), to, value, count, stream);
}

CUresult sim_cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return fill(now_ns(), to, value, count, stream);
}

}  // extern "C"

GPUSIM_EXPORT_TWIN(cuMemcpy, _ptds);
GPUSIM_EXPORT_TWIN(cuMemcpyAsync, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemcpyHtoD_v2, _ptds);
GPUSIM_EXPORT_TWIN(cuMemcpyDtoH_v2, _ptds);
GPUSIM_EXPORT_TWIN(cuMemcpyDtoD_v2, _ptds);
GPUSIM_EXPORT_TWIN(cuMemcpyHtoDAsync_v2, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemcpyDtoHAsync_v2, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemcpyDtoDAsync_v2, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemcpyPeer, _ptds);
GPUSIM_EXPORT_TWIN(cuMemcpyPeerAsync, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemcpy2D_v2, _ptds);
GPUSIM_EXPORT_TWIN(cuMemcpy2DUnaligned_v2, _ptds);
GPUSIM_EXPORT_TWIN(cuMemcpy2DAsync_v2, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemsetD8_v2, _ptds);
GPUSIM_EXPORT_TWIN(cuMemsetD16_v2, _ptds);
GPUSIM_EXPORT_TWIN(cuMemsetD32_v2, _ptds);
GPUSIM_EXPORT_TWIN(cuMemsetD8Async, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemsetD16Async, _ptsz);
GPUSIM_EXPORT_TWIN(cuMemsetD32Async, _ptsz);
