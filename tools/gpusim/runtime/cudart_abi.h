// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA runtime interface that the simulated runtime exports, at its binary ABI.
// Written from the public interface description; usable from C and C++.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorInsufficientDriver = 35,
  cudaErrorCallRequiresNewerDriver = 36,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600
} cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2
};

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2 };

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct CUkern_st* cudaKernel_t;
typedef void (*cudaHostFn_t)(void* argument);

typedef struct dim3 {
  unsigned int x, y, z;
} dim3;

/* CUDART_STREAM_FUNCTION declares a function and its twin for per-thread default streams. */
#define CUDART_STREAM_FUNCTION(name, arguments) \
  cudaError_t name arguments;                   \
  cudaError_t name##_ptsz arguments

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags);
cudaError_t cudaFreeHost(void* pointer);
CUDART_STREAM_FUNCTION(cudaMallocAsync, (void** pointer, size_t bytes, cudaStream_t stream));
CUDART_STREAM_FUNCTION(cudaFreeAsync, (void* pointer, cudaStream_t stream));

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy_ptds(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemset(void* to, int value, size_t bytes);
cudaError_t cudaMemset_ptds(void* to, int value, size_t bytes);
CUDART_STREAM_FUNCTION(cudaMemcpyAsync, (void* to, const void* from, size_t bytes,
                                         enum cudaMemcpyKind kind, cudaStream_t stream));
CUDART_STREAM_FUNCTION(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream));

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
CUDART_STREAM_FUNCTION(cudaStreamSynchronize, (cudaStream_t stream));
CUDART_STREAM_FUNCTION(cudaStreamQuery, (cudaStream_t stream));
CUDART_STREAM_FUNCTION(cudaStreamWaitEvent,
                       (cudaStream_t stream, cudaEvent_t event, unsigned int flags));
CUDART_STREAM_FUNCTION(cudaLaunchHostFunc,
                       (cudaStream_t stream, cudaHostFn_t function, void* argument));

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
CUDART_STREAM_FUNCTION(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream));

CUDART_STREAM_FUNCTION(cudaStreamBeginCapture,
                       (cudaStream_t stream, enum cudaStreamCaptureMode mode));
CUDART_STREAM_FUNCTION(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph));
CUDART_STREAM_FUNCTION(cudaGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream));
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

/* `function` is a kernel's stub, as registered, or its handle. What nvcc makes of <<<>>> calls the
 * second of these, with a handle. */
CUDART_STREAM_FUNCTION(cudaLaunchKernel, (const void* function, dim3 grid, dim3 block, void** args,
                                          size_t shared_bytes, cudaStream_t stream));
CUDART_STREAM_FUNCTION(__cudaLaunchKernel, (cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                                            size_t shared_bytes, cudaStream_t stream));

/* How a program makes its kernels known, as nvcc's code does before main(). */
enum { CUDART_FAT_BINARY_MAGIC = 0x466243b1 };
struct cudartFatBinary {
  int magic;
  int version;
  const void* image; /* as cuModuleLoadData takes it */
  void* file_name;
};
void** __cudaRegisterFatBinary(void* fat_binary);
void __cudaRegisterFunction(void** fat_binary, const char* stub, char* device_function,
                            const char* name, int thread_limit, void* thread, void* block,
                            void* block_dim, void* grid_dim, int* warp_size);
void __cudaRegisterFatBinaryEnd(void** fat_binary);
void __cudaUnregisterFatBinary(void** fat_binary);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub);

#ifdef __cplusplus
}
#endif
