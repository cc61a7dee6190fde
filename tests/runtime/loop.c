// SPDX-License-Identifier: Apache-2.0
//
// runtime_loop: a small training loop by the CUDA runtime. Prints what it did as a JSON line, or
// what went wrong, and `skip NAME` for what the driver below lacks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cudart_abi.h"

enum { kIterations = 20, kBytes = 1 << 16, kStepMs = 2, kGraphLaunches = 3 };

static const char kImage[] = "kernel step_ns\n";
static struct cudartFatBinary g_fat_binary = {CUDART_FAT_BINARY_MAGIC, 1, kImage, NULL};

/// The host's side of the kernel: only its address counts.
static void step_stub(void) {}

static const void* stub(void) {
  void (*const function)(void) = step_stub;
  const void* address;
  memcpy(&address, &function, sizeof(address));
  return address;
}

__attribute__((constructor)) static void register_kernels(void) {
  static char name[] = "step_ns";
  void** handle = __cudaRegisterFatBinary(&g_fat_binary);
  __cudaRegisterFunction(handle, stub(), name, name, -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterFatBinaryEnd(handle);
}

static void must(const char* call, cudaError_t error) {
  if (error == cudaSuccess) return;
  printf("%s returned %d, %s\n", call, (int)error, cudaGetErrorString(error));
  exit(1);
}
#define MUST(call) must(#call, call)

static void check(int condition, const char* what) {
  if (condition) return;
  printf("%s\n", what);
  exit(1);
}

static const dim3 kOne = {1, 1, 1};

/// As the code that nvcc makes of `step<<<1, 1, 0, stream>>>(ns)`.
static cudaError_t launch(cudaStream_t stream, double ms) {
  unsigned long long ns = (unsigned long long)(ms * 1e6);
  void* arguments[] = {&ns};
  cudaKernel_t kernel;
  MUST(__cudaGetKernel(&kernel, stub()));
  return __cudaLaunchKernel(kernel, kOne, kOne, arguments, 0, stream);
}

static void loop(void) {
  cudaStream_t stream, copies;
  cudaEvent_t copied, done;
  void* batch = malloc(kBytes);
  void *device, *result;
  MUST(cudaMalloc(&device, kBytes));
  MUST(cudaMallocHost(&result, kBytes));
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MUST(cudaStreamCreate(&copies));
  MUST(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  MUST(cudaEventCreate(&done));
  for (int i = 0; i < kIterations; i++) {
    memset(batch, i, kBytes);
    MUST(cudaMemcpyAsync(device, batch, kBytes, cudaMemcpyHostToDevice, copies));
    MUST(cudaEventRecord(copied, copies));
    MUST(cudaStreamWaitEvent(stream, copied, 0));
    MUST(launch(stream, kStepMs));
    MUST(cudaMemcpyAsync(result, device, kBytes, cudaMemcpyDeviceToHost, stream));
    MUST(cudaEventRecord(done, stream));
    MUST(cudaEventSynchronize(done));
    check(*(unsigned char*)result == i, "a batch did not come back");
  }
  MUST(cudaMemsetAsync(device, 7, kBytes, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaMemcpy(batch, device, kBytes, cudaMemcpyDeviceToHost));
  check(*(unsigned char*)batch == 7, "the memset did not come back");
  MUST(cudaDeviceSynchronize());
  MUST(cudaEventDestroy(copied));
  MUST(cudaEventDestroy(done));
  MUST(cudaStreamDestroy(stream));
  MUST(cudaStreamDestroy(copies));
  MUST(cudaFree(device));
  MUST(cudaFreeHost(result));
  free(batch);
}

static void errors(void) {
  int device = -1;
  check(cudaSetDevice(77) == cudaErrorInvalidDevice, "device 77 can be set");
  check(cudaPeekAtLastError() == cudaErrorInvalidDevice, "the error is not kept");
  check(cudaGetLastError() == cudaErrorInvalidDevice, "the error is not told");
  check(cudaGetLastError() == cudaSuccess, "the error is not forgotten");
  MUST(cudaGetDevice(&device));
  check(device == 0, "the device is another");
  check(cudaLaunchKernel("no kernel", kOne, kOne, NULL, 0, NULL) == cudaErrorInvalidDeviceFunction,
        "an unknown kernel can be launched");
  cudaGetLastError();
}

/// Whether the driver has what the call needs.
static int has(const char* name, cudaError_t error) {
  if (error == cudaErrorCallRequiresNewerDriver) {
    printf("skip %s\n", name);
    return 0;
  }
  must(name, error);
  return 1;
}

static int graphs(void) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (!has("graphs", cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal))) return 0;
  MUST(launch(stream, kStepMs));
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < kGraphLaunches; i++) MUST(cudaGraphLaunch(exec, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaGraphExecDestroy(exec));
  MUST(cudaGraphDestroy(graph));
  return kGraphLaunches;
}

static int per_thread_stream(void) {
  unsigned long long ns = kStepMs * 1000000ULL;
  void* arguments[] = {&ns};
  const cudaError_t error = cudaLaunchKernel_ptsz(stub(), kOne, kOne, arguments, 0, NULL);
  if (!has("per-thread default streams", error)) return 0;
  check(cudaStreamQuery_ptsz(NULL) == cudaErrorNotReady, "the thread's stream is not busy");
  MUST(cudaStreamSynchronize_ptsz(NULL));
  return 1;
}

static void set_flag(void* flag) {
  *(volatile int*)flag = 1;
}

static void host_functions(void) {
  volatile int flag = 0;
  void* argument = (void*)&flag;
  if (!has("host functions", cudaLaunchHostFunc(NULL, set_flag, argument))) return;
  MUST(cudaStreamSynchronize(NULL));
  check(flag, "the host function did not run");
}

static int async_memory(void) {
  void* memory;
  if (!has("stream-ordered memory", cudaMallocAsync(&memory, kBytes, NULL))) return 0;
  MUST(cudaFreeAsync(memory, NULL));
  MUST(cudaStreamSynchronize(NULL));
  return 1;
}

int main(void) {
  int count = 0, driver = 0, runtime = 0;
  MUST(cudaGetDeviceCount(&count));
  check(count > 0, "there is no device");
  MUST(cudaDriverGetVersion(&driver));
  MUST(cudaRuntimeGetVersion(&runtime));
  puts("ready");
  fflush(stdout);
  getchar();
  loop();
  errors();
  const int graph_launches = graphs();
  const int per_thread = per_thread_stream();
  host_functions();
  const int async = async_memory();
  printf(
      "{\"pid\": %d, \"iterations\": %d, \"bytes\": %d, \"step_ns\": %d, \"graph_launches\": %d, "
      "\"per_thread_launches\": %d, \"async_allocations\": %d, \"driver\": %d, \"runtime\": %d}\n",
      (int)getpid(), kIterations, kBytes, kStepMs * 1000000, graph_launches, per_thread, async,
      driver, runtime);
  return 0;
}
