// SPDX-License-Identifier: Apache-2.0
// What the runtime knows: the driver's functions, this thread's device and the program's kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cudart_abi.h"

namespace gpusim::runtime {

/// How stream 0 is meant; as the driver's look-up takes it.
enum class Streams : unsigned long long { kLegacy = 0, kPerThread = 2 };

/// The driver's functions for one kind of callers; null where it has none.
struct Driver {
#define ENTRY(name, version, arguments) int(*name) arguments;
#define STREAM_ENTRY(name, version, per_thread_version, arguments) int(*name) arguments;
#include "driver_entries.h"
#undef STREAM_ENTRY
#undef ENTRY
};

/// Opens the driver and initialises it, the first time. `error` is why it cannot be used, which is
/// kept. What is in the table may still be missing: see call().
const Driver& driver(Streams streams, cudaError_t* error);

/// Binds the calling thread to its device's primary context, which is retained by the first thread
/// that needs it, unless the thread has a context already.
cudaError_t bind_thread(const Driver& driver);
cudaError_t set_device(int device);
int device_of_thread();

/// Keeps an error for cudaGetLastError and gives it back.
cudaError_t remember(cudaError_t error);
cudaError_t last_error(bool forget);

/// Runs `body(driver)` with the calling thread bound to a context.
template <typename Body>
cudaError_t with_context(Streams streams, const Body& body) {
  cudaError_t error = cudaSuccess;
  const Driver& functions = driver(streams, &error);
  if (error == cudaSuccess) error = bind_thread(functions);
  return remember(error == cudaSuccess ? body(functions) : error);
}

/// One call of the driver. Its errors have the runtime's numbers.
template <typename... Arguments, typename... Values>
cudaError_t call(int (*function)(Arguments...), Values... values) {
  if (!function) return cudaErrorCallRequiresNewerDriver;
  return static_cast<cudaError_t>(function(values...));
}

inline uintptr_t address(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// The driver's function of a kernel, given by its stub or its handle; its module is loaded when
/// one of its kernels is first used.
cudaError_t find_kernel(const Driver& driver, const void* stub_or_handle, void** function);

}  // namespace gpusim::runtime
