// SPDX-License-Identifier: Apache-2.0
// What can be asked before cuInit: version, error texts and entry points.
#include <cstring>

#include "cuda_abi.h"
#include "export.h"

namespace {

constexpr int kDriverVersion = 12080;

struct ErrorText {
  CUresult error;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device is unavailable"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* find_error(CUresult error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.error == error) return &entry;
  }
  return nullptr;
}

// `name` is what callers ask for: an exported symbol without its version suffix. Where a later
// version of the interface put another signature behind the name, `until` is that version.
struct EntryPoint {
  const char* symbol;
  const char* name;
  void* address;
  int until;
};

#define ENTRY(symbol, name) {#symbol, name, reinterpret_cast<void*>(&symbol), 0}
#define ENTRY_UNTIL(symbol, name, until) {#symbol, name, reinterpret_cast<void*>(&symbol), until}

const EntryPoint kEntryPoints[] = {
    ENTRY(cuInit, "cuInit"),
    ENTRY(cuDriverGetVersion, "cuDriverGetVersion"),
    ENTRY(cuGetErrorName, "cuGetErrorName"),
    ENTRY(cuGetErrorString, "cuGetErrorString"),
    ENTRY(cuGetProcAddress_v2, "cuGetProcAddress"),
    ENTRY(cuDeviceGetCount, "cuDeviceGetCount"),
    ENTRY(cuDeviceGet, "cuDeviceGet"),
    ENTRY(cuDeviceGetName, "cuDeviceGetName"),
    ENTRY(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId"),
    ENTRY(cuDeviceTotalMem_v2, "cuDeviceTotalMem"),
    ENTRY(cuDeviceGetAttribute, "cuDeviceGetAttribute"),
    ENTRY(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain"),
    ENTRY(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease"),
    ENTRY_UNTIL(cuCtxCreate_v2, "cuCtxCreate", 11040),
    ENTRY(cuCtxDestroy_v2, "cuCtxDestroy"),
    ENTRY(cuCtxSetCurrent, "cuCtxSetCurrent"),
    ENTRY(cuCtxGetCurrent, "cuCtxGetCurrent"),
    ENTRY_UNTIL(cuCtxSynchronize, "cuCtxSynchronize", 13000),
    ENTRY(cuStreamCreate, "cuStreamCreate"),
    ENTRY(cuStreamCreateWithPriority, "cuStreamCreateWithPriority"),
    ENTRY(cuStreamDestroy_v2, "cuStreamDestroy"),
    ENTRY(cuStreamSynchronize, "cuStreamSynchronize"),
    ENTRY(cuStreamQuery, "cuStreamQuery"),
    ENTRY(cuStreamWaitEvent, "cuStreamWaitEvent"),
    ENTRY(cuEventCreate, "cuEventCreate"),
    ENTRY(cuEventRecord, "cuEventRecord"),
    ENTRY(cuEventQuery, "cuEventQuery"),
    ENTRY(cuEventSynchronize, "cuEventSynchronize"),
    ENTRY(cuEventElapsedTime, "cuEventElapsedTime"),
    ENTRY(cuEventDestroy_v2, "cuEventDestroy"),
    ENTRY(cuMemAlloc_v2, "cuMemAlloc"),
    ENTRY(cuMemFree_v2, "cuMemFree"),
    ENTRY(cuMemHostAlloc, "cuMemHostAlloc"),
    ENTRY(cuMemAllocHost_v2, "cuMemAllocHost"),
    ENTRY(cuMemFreeHost, "cuMemFreeHost"),
    ENTRY(cuMemcpyHtoD_v2, "cuMemcpyHtoD"),
    ENTRY(cuMemcpyDtoH_v2, "cuMemcpyDtoH"),
    ENTRY(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync"),
    ENTRY(cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync"),
    ENTRY(cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync"),
    ENTRY(cuMemsetD8Async, "cuMemsetD8Async"),
    ENTRY(cuModuleLoadData, "cuModuleLoadData"),
    ENTRY(cuModuleGetFunction, "cuModuleGetFunction"),
    ENTRY(cuModuleUnload, "cuModuleUnload"),
    ENTRY(cuLaunchKernel, "cuLaunchKernel"),
};

#undef ENTRY
#undef ENTRY_UNTIL

const EntryPoint* find_entry(const char* symbol, int version) {
  for (const EntryPoint& entry : kEntryPoints) {
    if (std::strcmp(entry.symbol, symbol) != 0 && std::strcmp(entry.name, symbol) != 0) continue;
    return entry.until == 0 || version < entry.until ? &entry : nullptr;
  }
  return nullptr;
}

}  // namespace

extern "C" {

CUresult sim_cuDriverGetVersion(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}

CUresult sim_cuGetErrorName(CUresult error, const char** name) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* entry = find_error(error);
  *name = entry ? entry->name : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* entry = find_error(error);
  *text = entry ? entry->text : nullptr;
  return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGetProcAddress_v2(const char* symbol, void** pfn, int cuda_version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult* status) {
  if (!symbol || !pfn) return CUDA_ERROR_INVALID_VALUE;
  // No per-thread default stream here: its entries are other symbols, which do not exist.
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const EntryPoint* entry = per_thread ? nullptr : find_entry(symbol, cuda_version);
  *pfn = entry ? entry->address : nullptr;
  if (status) {
    *status = entry ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return entry ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"

GPUSIM_EXPORT(cuDriverGetVersion);
GPUSIM_EXPORT(cuGetErrorName);
GPUSIM_EXPORT(cuGetErrorString);
GPUSIM_EXPORT(cuGetProcAddress_v2);
