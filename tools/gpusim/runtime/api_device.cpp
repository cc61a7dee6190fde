// SPDX-License-Identifier: Apache-2.0
// Devices, errors, memory, and streams and events without twins.
#include "runtime.h"

using gpusim::runtime::address;
using gpusim::runtime::call;
using gpusim::runtime::Driver;
using gpusim::runtime::driver;
using gpusim::runtime::remember;
using gpusim::runtime::Streams;
using gpusim::runtime::with_context;

namespace {

constexpr int kRuntimeVersion = 13000;

template <typename Body>
cudaError_t in_context(const Body& body) {
  return with_context(Streams::kLegacy, body);
}

cudaError_t allocate(int (*function)(uintptr_t*, size_t), void** pointer, size_t bytes) {
  uintptr_t memory = 0;
  const cudaError_t error = call(function, &memory, bytes);
  if (error == cudaSuccess) *pointer = reinterpret_cast<void*>(memory);
  return error;
}

cudaError_t create_stream(cudaStream_t* stream, unsigned int flags) {
  return in_context([&](const Driver& d) {
    return call(d.cuStreamCreate, reinterpret_cast<void**>(stream), flags);
  });
}

cudaError_t create_event(cudaEvent_t* event, unsigned int flags) {
  return in_context([&](const Driver& d) {
    return call(d.cuEventCreate, reinterpret_cast<void**>(event), flags);
  });
}

using ErrorText = int (*)(int, const char**);
const char* text_of(ErrorText Driver::* function, cudaError_t error, const char* without) {
  cudaError_t ignored = cudaSuccess;
  const ErrorText tell = driver(Streams::kLegacy, &ignored).*function;
  const char* text = nullptr;
  return call(tell, static_cast<int>(error), &text) == cudaSuccess && text ? text : without;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  cudaError_t error = cudaSuccess;
  const Driver& d = driver(Streams::kLegacy, &error);
  return remember(error == cudaSuccess ? call(d.cuDeviceGetCount, count) : error);
}

cudaError_t cudaSetDevice(int device) {
  return remember(gpusim::runtime::set_device(device));
}

cudaError_t cudaGetDevice(int* device) {
  if (!device) return remember(cudaErrorInvalidValue);
  *device = gpusim::runtime::device_of_thread();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  return in_context([](const Driver& d) { return call(d.cuCtxSynchronize); });
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return remember(cudaErrorInvalidValue);
  cudaError_t ignored = cudaSuccess;
  *version = 0;
  call(driver(Streams::kLegacy, &ignored).cuDriverGetVersion, version);
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return remember(cudaErrorInvalidValue);
  *version = kRuntimeVersion;
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
  return gpusim::runtime::last_error(true);
}

cudaError_t cudaPeekAtLastError(void) {
  return gpusim::runtime::last_error(false);
}

const char* cudaGetErrorName(cudaError_t error) {
  return text_of(&Driver::cuGetErrorName, error, "unrecognized error code");
}

const char* cudaGetErrorString(cudaError_t error) {
  return text_of(&Driver::cuGetErrorString, error, "unrecognized error code");
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (!pointer) return remember(cudaErrorInvalidValue);
  return in_context([&](const Driver& d) { return allocate(d.cuMemAlloc, pointer, bytes); });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  if (!pointer) return remember(cudaErrorInvalidValue);
  return in_context([&](const Driver& d) {
    uintptr_t memory = 0;
    const cudaError_t error = call(d.cuMemAllocManaged, &memory, bytes, flags);
    if (error == cudaSuccess) *pointer = reinterpret_cast<void*>(memory);
    return error;
  });
}

cudaError_t cudaFree(void* pointer) {
  return in_context(
      [&](const Driver& d) { return pointer ? call(d.cuMemFree, address(pointer)) : cudaSuccess; });
}

// The real runtime does not even look cuMemAllocHost up.
cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return in_context([&](const Driver& d) { return call(d.cuMemHostAlloc, pointer, bytes, 0U); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return in_context([&](const Driver& d) { return call(d.cuMemHostAlloc, pointer, bytes, flags); });
}

cudaError_t cudaFreeHost(void* pointer) {
  return in_context(
      [&](const Driver& d) { return pointer ? call(d.cuMemFreeHost, pointer) : cudaSuccess; });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create_stream(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return create_stream(stream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return in_context([&](const Driver& d) {
    return call(d.cuStreamCreateWithPriority, reinterpret_cast<void**>(stream), flags, priority);
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return in_context([&](const Driver& d) { return call(d.cuStreamDestroy, stream); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create_event(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return create_event(event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return in_context([&](const Driver& d) { return call(d.cuEventDestroy, event); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return in_context([&](const Driver& d) { return call(d.cuEventQuery, event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return in_context([&](const Driver& d) { return call(d.cuEventSynchronize, event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return in_context(
      [&](const Driver& d) { return call(d.cuEventElapsedTime, milliseconds, start, end); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return in_context([&](const Driver& d) {
    return call(d.cuGraphInstantiateWithFlags, reinterpret_cast<void**>(exec), graph, flags);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return in_context([&](const Driver& d) { return call(d.cuGraphExecDestroy, exec); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return in_context([&](const Driver& d) { return call(d.cuGraphDestroy, graph); });
}

}  // extern "C"
