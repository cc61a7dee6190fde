// SPDX-License-Identifier: Apache-2.0
// The driver is reached as the real runtime reaches it: dlopen by soname, then one look-up for
// every function, so that no program that uses the runtime names libcuda.
#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "runtime.h"

namespace gpusim::runtime {
namespace {

using LookUp = int (*)(const char*, void**, int, unsigned long long, int*);

struct Loaded {
  Driver legacy = {};
  Driver per_thread = {};
  cudaError_t error = cudaErrorInsufficientDriver;
};

template <typename Function>
void find(LookUp look_up, Function** function, const char* name, int version, Streams streams) {
  void* found = nullptr;
  int status = 0;
  const int result =
      look_up(name, &found, version, static_cast<unsigned long long>(streams), &status);
  if (result != 0) found = nullptr;
  std::memcpy(function, &found, sizeof(found));
}

void fill(LookUp look_up, Driver* driver, Streams streams) {
  const bool per_thread = streams == Streams::kPerThread;
#define ENTRY(name, version, arguments) \
  find(look_up, &driver->name, #name, version, Streams::kLegacy);
#define STREAM_ENTRY(name, version, per_thread_version, arguments) \
  find(look_up, &driver->name, #name, per_thread ? per_thread_version : version, streams);
#include "driver_entries.h"
#undef STREAM_ENTRY
#undef ENTRY
}

void load(Loaded* loaded) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return;
  LookUp look_up = nullptr;
  void* symbol = dlsym(library, "cuGetProcAddress_v2");
  if (!symbol) return;
  std::memcpy(&look_up, &symbol, sizeof(symbol));
  fill(look_up, &loaded->legacy, Streams::kLegacy);
  fill(look_up, &loaded->per_thread, Streams::kPerThread);
  loaded->error = call(loaded->legacy.cuInit, 0U);
}

std::once_flag g_once;
Loaded g_loaded;

thread_local int t_device = 0;
thread_local bool t_bound = false;
thread_local cudaError_t t_last_error = cudaSuccess;

std::mutex g_mutex;
std::vector<void*> g_primary_contexts;  // by device; null: not retained yet

cudaError_t primary_context(const Driver& driver, int device, void** context) {
  const std::lock_guard guard(g_mutex);
  const auto index = static_cast<size_t>(device);
  if (g_primary_contexts.size() <= index) g_primary_contexts.resize(index + 1);
  if (!g_primary_contexts[index]) {
    int handle = 0;
    cudaError_t error = call(driver.cuDeviceGet, &handle, device);
    if (error != cudaSuccess) return error;
    error = call(driver.cuDevicePrimaryCtxRetain, &g_primary_contexts[index], handle);
    if (error != cudaSuccess) return error;
  }
  *context = g_primary_contexts[index];
  return cudaSuccess;
}

cudaError_t make_current(const Driver& driver, int device) {
  void* context = nullptr;
  cudaError_t error = primary_context(driver, device, &context);
  if (error == cudaSuccess) error = call(driver.cuCtxSetCurrent, context);
  return error;
}

}  // namespace

const Driver& driver(Streams streams, cudaError_t* error) {
  std::call_once(g_once, [] { load(&g_loaded); });
  *error = g_loaded.error;
  return streams == Streams::kPerThread ? g_loaded.per_thread : g_loaded.legacy;
}

cudaError_t bind_thread(const Driver& driver) {
  if (t_bound) return cudaSuccess;
  void* current = nullptr;
  cudaError_t error = call(driver.cuCtxGetCurrent, &current);
  if (error == cudaSuccess && !current) error = make_current(driver, t_device);
  t_bound = error == cudaSuccess;
  return error;
}

cudaError_t set_device(int device) {
  cudaError_t error = cudaSuccess;
  const Driver& functions = driver(Streams::kLegacy, &error);
  int count = 0;
  if (error == cudaSuccess) error = call(functions.cuDeviceGetCount, &count);
  if (error != cudaSuccess) return error;
  if (device < 0 || device >= count) return cudaErrorInvalidDevice;
  error = make_current(functions, device);
  if (error != cudaSuccess) return error;
  t_device = device;
  t_bound = true;
  return cudaSuccess;
}

int device_of_thread() {
  return t_device;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) t_last_error = error;
  return error;
}

cudaError_t last_error(bool forget) {
  const cudaError_t error = t_last_error;
  if (forget) t_last_error = cudaSuccess;
  return error;
}

}  // namespace gpusim::runtime
