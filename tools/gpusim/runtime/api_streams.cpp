// SPDX-License-Identifier: Apache-2.0
// What has a twin for per-thread default streams: each call is one of the driver, of the same kind.
#include "runtime.h"

using gpusim::runtime::address;
using gpusim::runtime::call;
using gpusim::runtime::Driver;
using gpusim::runtime::remember;
using gpusim::runtime::Streams;
using gpusim::runtime::with_context;

namespace {

cudaError_t copy(Streams streams, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return with_context(streams, [&](const Driver& d) {
    switch (kind) {
      case cudaMemcpyHostToDevice:
        return call(d.cuMemcpyHtoD, address(to), from, bytes);
      case cudaMemcpyDeviceToHost:
        return call(d.cuMemcpyDtoH, to, address(from), bytes);
      case cudaMemcpyDeviceToDevice:
        return call(d.cuMemcpyDtoD, address(to), address(from), bytes);
      case cudaMemcpyHostToHost:
      case cudaMemcpyDefault:
        return call(d.cuMemcpy, address(to), address(from), bytes);
    }
    return cudaErrorInvalidMemcpyDirection;
  });
}

cudaError_t copy_async(Streams streams, void* to, const void* from, size_t bytes,
                       cudaMemcpyKind kind, void* stream) {
  return with_context(streams, [&](const Driver& d) {
    switch (kind) {
      case cudaMemcpyHostToDevice:
        return call(d.cuMemcpyHtoDAsync, address(to), from, bytes, stream);
      case cudaMemcpyDeviceToHost:
        return call(d.cuMemcpyDtoHAsync, to, address(from), bytes, stream);
      case cudaMemcpyDeviceToDevice:
        return call(d.cuMemcpyDtoDAsync, address(to), address(from), bytes, stream);
      case cudaMemcpyHostToHost:
      case cudaMemcpyDefault:
        return call(d.cuMemcpyAsync, address(to), address(from), bytes, stream);
    }
    return cudaErrorInvalidMemcpyDirection;
  });
}

cudaError_t set(Streams streams, void* to, int value, size_t bytes) {
  return with_context(streams, [&](const Driver& d) {
    return call(d.cuMemsetD8, address(to), static_cast<unsigned char>(value), bytes);
  });
}

cudaError_t set_async(Streams streams, void* to, int value, size_t bytes, void* stream) {
  return with_context(streams, [&](const Driver& d) {
    return call(d.cuMemsetD8Async, address(to), static_cast<unsigned char>(value), bytes, stream);
  });
}

cudaError_t allocate_async(Streams streams, void** pointer, size_t bytes, void* stream) {
  if (!pointer) return remember(cudaErrorInvalidValue);
  return with_context(streams, [&](const Driver& d) {
    uintptr_t memory = 0;
    const cudaError_t error = call(d.cuMemAllocAsync, &memory, bytes, stream);
    if (error == cudaSuccess) *pointer = reinterpret_cast<void*>(memory);
    return error;
  });
}

cudaError_t launch(Streams streams, const void* kernel, dim3 grid, dim3 block, void** args,
                   size_t shared_bytes, void* stream) {
  return with_context(streams, [&](const Driver& d) {
    void* function = nullptr;
    const cudaError_t error = find_kernel(d, kernel, &function);
    if (error != cudaSuccess) return error;
    return call(d.cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                static_cast<unsigned int>(shared_bytes), stream, args,
                static_cast<void**>(nullptr));
  });
}

}  // namespace

// A function and its twin: PARAMETERS in parentheses, then the body with `streams` in it.
#define WITH_TWIN_NAMED(name, twin, parameters, body) \
  cudaError_t name parameters {                       \
    constexpr Streams streams = Streams::kLegacy;     \
    return body;                                      \
  }                                                   \
  cudaError_t twin parameters {                       \
    constexpr Streams streams = Streams::kPerThread;  \
    return body;                                      \
  }
#define WITH_TWIN(name, parameters, body) WITH_TWIN_NAMED(name, name##_ptsz, parameters, body)
// A function that is one call of the driver's.
#define PASSED_ON(name, parameters, function, ...) \
  WITH_TWIN(name, parameters,                      \
            with_context(streams, [&](const Driver& d) { return call(d.function, __VA_ARGS__); }))

extern "C" {

WITH_TWIN_NAMED(cudaMemcpy, cudaMemcpy_ptds,
                (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
                copy(streams, to, from, bytes, kind))
WITH_TWIN_NAMED(cudaMemset, cudaMemset_ptds, (void* to, int value, size_t bytes),
                set(streams, to, value, bytes))
WITH_TWIN(cudaMemcpyAsync,
          (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
          copy_async(streams, to, from, bytes, kind, stream))
WITH_TWIN(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream),
          set_async(streams, to, value, bytes, stream))
WITH_TWIN(cudaMallocAsync, (void** pointer, size_t bytes, cudaStream_t stream),
          allocate_async(streams, pointer, bytes, stream))
PASSED_ON(cudaFreeAsync, (void* pointer, cudaStream_t stream), cuMemFreeAsync, address(pointer),
          stream)
PASSED_ON(cudaStreamSynchronize, (cudaStream_t stream), cuStreamSynchronize, stream)
PASSED_ON(cudaStreamQuery, (cudaStream_t stream), cuStreamQuery, stream)
PASSED_ON(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
          cuStreamWaitEvent, stream, event, flags)
PASSED_ON(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void* argument),
          cuLaunchHostFunc, stream, function, argument)
PASSED_ON(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), cuEventRecord, event, stream)
PASSED_ON(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode),
          cuStreamBeginCapture, stream, static_cast<int>(mode))
PASSED_ON(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), cuStreamEndCapture,
          stream, reinterpret_cast<void**>(graph))
PASSED_ON(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), cuGraphLaunch, exec, stream)
WITH_TWIN(cudaLaunchKernel,
          (const void* function, dim3 grid, dim3 block, void** args, size_t shared_bytes,
           cudaStream_t stream),
          launch(streams, function, grid, block, args, shared_bytes, stream))

// These jump into the ones above, as the real ones do: a probe of those sees launches by both.
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, args, shared_bytes, stream);
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                    size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel_ptsz(kernel, grid, block, args, shared_bytes, stream);
}

}  // extern "C"
