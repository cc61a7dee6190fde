// SPDX-License-Identifier: Apache-2.0
#include "entry_points.h"

#include <cstring>

#include "cuda_abi.h"

namespace gpusim {
namespace {

// `name` is what callers ask for: an exported symbol without its version suffix. `since` is the
// version of the interface that put this signature behind the name.
struct EntryPoint {
  const char* symbol;
  const char* name;
  int since;
  void* address;
  void* twin;
};

#define ADDRESS(symbol) reinterpret_cast<void*>(&symbol)
#define ENTRY(symbol, name, since) {#symbol, name, since, ADDRESS(symbol), nullptr}
#define TWIN(symbol, name, since, suffix) \
  {#symbol, name, since, ADDRESS(symbol), ADDRESS(symbol##suffix)}

const EntryPoint kEntryPoints[] = {
    ENTRY(cuInit, "cuInit", 2000),
    ENTRY(cuDriverGetVersion, "cuDriverGetVersion", 2000),
    ENTRY(cuGetErrorName, "cuGetErrorName", 6000),
    ENTRY(cuGetErrorString, "cuGetErrorString", 6000),
    ENTRY(cuGetProcAddress, "cuGetProcAddress", 11030),
    ENTRY(cuGetProcAddress_v2, "cuGetProcAddress", 12000),
    ENTRY(cuGetExportTable, "cuGetExportTable", 3000),
    ENTRY(cuDeviceGetCount, "cuDeviceGetCount", 2000),
    ENTRY(cuDeviceGet, "cuDeviceGet", 2000),
    ENTRY(cuDeviceGetName, "cuDeviceGetName", 2000),
    ENTRY(cuDeviceGetUuid, "cuDeviceGetUuid", 9020),
    ENTRY(cuDeviceGetUuid_v2, "cuDeviceGetUuid", 11040),
    ENTRY(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", 4010),
    ENTRY(cuDeviceTotalMem_v2, "cuDeviceTotalMem", 3020),
    ENTRY(cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000),
    ENTRY(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", 4000),
    ENTRY(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", 11020),
    ENTRY(cuDeviceGetMemPool, "cuDeviceGetMemPool", 11020),
    ENTRY(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000),
    ENTRY(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000),
    ENTRY(cuDevicePrimaryCtxSetFlags_v2, "cuDevicePrimaryCtxSetFlags", 11000),
    ENTRY(cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState", 7000),
    ENTRY(cuCtxCreate_v2, "cuCtxCreate", 3020),
    ENTRY(cuCtxCreate_v3, "cuCtxCreate", 11040),
    ENTRY(cuCtxCreate_v4, "cuCtxCreate", 12050),
    ENTRY(cuCtxDestroy_v2, "cuCtxDestroy", 4000),
    ENTRY(cuCtxPushCurrent_v2, "cuCtxPushCurrent", 4000),
    ENTRY(cuCtxPopCurrent_v2, "cuCtxPopCurrent", 4000),
    ENTRY(cuCtxSetCurrent, "cuCtxSetCurrent", 4000),
    ENTRY(cuCtxGetCurrent, "cuCtxGetCurrent", 4000),
    ENTRY(cuCtxGetDevice, "cuCtxGetDevice", 2000),
    ENTRY(cuCtxGetFlags, "cuCtxGetFlags", 7000),
    ENTRY(cuCtxSynchronize, "cuCtxSynchronize", 2000),
    ENTRY(cuCtxSynchronize_v2, "cuCtxSynchronize", 13000),
    ENTRY(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", 4000),
    ENTRY(cuStreamCreate, "cuStreamCreate", 2000),
    ENTRY(cuStreamCreateWithPriority, "cuStreamCreateWithPriority", 5050),
    ENTRY(cuStreamDestroy_v2, "cuStreamDestroy", 4000),
    TWIN(cuStreamSynchronize, "cuStreamSynchronize", 2000, _ptsz),
    TWIN(cuStreamQuery, "cuStreamQuery", 2000, _ptsz),
    TWIN(cuStreamWaitEvent, "cuStreamWaitEvent", 3020, _ptsz),
    TWIN(cuStreamGetFlags, "cuStreamGetFlags", 5050, _ptsz),
    TWIN(cuStreamGetPriority, "cuStreamGetPriority", 5050, _ptsz),
    TWIN(cuStreamGetCtx, "cuStreamGetCtx", 9020, _ptsz),
    TWIN(cuStreamAddCallback, "cuStreamAddCallback", 5000, _ptsz),
    TWIN(cuLaunchHostFunc, "cuLaunchHostFunc", 10000, _ptsz),
    ENTRY(cuEventCreate, "cuEventCreate", 2000),
    TWIN(cuEventRecord, "cuEventRecord", 2000, _ptsz),
    TWIN(cuEventRecordWithFlags, "cuEventRecordWithFlags", 11010, _ptsz),
    ENTRY(cuEventQuery, "cuEventQuery", 2000),
    ENTRY(cuEventSynchronize, "cuEventSynchronize", 2000),
    ENTRY(cuEventElapsedTime, "cuEventElapsedTime", 2000),
    ENTRY(cuEventDestroy_v2, "cuEventDestroy", 4000),
    ENTRY(cuMemGetInfo_v2, "cuMemGetInfo", 3020),
    ENTRY(cuMemAlloc_v2, "cuMemAlloc", 3020),
    ENTRY(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020),
    ENTRY(cuMemAllocManaged, "cuMemAllocManaged", 6000),
    ENTRY(cuMemFree_v2, "cuMemFree", 3020),
    TWIN(cuMemAllocAsync, "cuMemAllocAsync", 11020, _ptsz),
    TWIN(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020, _ptsz),
    TWIN(cuMemFreeAsync, "cuMemFreeAsync", 11020, _ptsz),
    ENTRY(cuMemHostAlloc, "cuMemHostAlloc", 2020),
    ENTRY(cuMemAllocHost_v2, "cuMemAllocHost", 3020),
    ENTRY(cuMemFreeHost, "cuMemFreeHost", 2000),
    ENTRY(cuMemHostRegister_v2, "cuMemHostRegister", 6050),
    ENTRY(cuMemHostUnregister, "cuMemHostUnregister", 4000),
    ENTRY(cuMemHostGetDevicePointer_v2, "cuMemHostGetDevicePointer", 3020),
    TWIN(cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000, _ptsz),
    TWIN(cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020, _ptsz),
    ENTRY(cuPointerGetAttribute, "cuPointerGetAttribute", 4000),
    ENTRY(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", 10020),
    ENTRY(cuMemAddressReserve, "cuMemAddressReserve", 10020),
    ENTRY(cuMemAddressFree, "cuMemAddressFree", 10020),
    ENTRY(cuMemCreate, "cuMemCreate", 10020),
    ENTRY(cuMemMap, "cuMemMap", 10020),
    ENTRY(cuMemUnmap, "cuMemUnmap", 10020),
    ENTRY(cuMemRelease, "cuMemRelease", 10020),
    ENTRY(cuMemSetAccess, "cuMemSetAccess", 10020),
    TWIN(cuMemcpy, "cuMemcpy", 4000, _ptds),
    TWIN(cuMemcpyAsync, "cuMemcpyAsync", 4000, _ptsz),
    TWIN(cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020, _ptds),
    TWIN(cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020, _ptds),
    TWIN(cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020, _ptds),
    TWIN(cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020, _ptsz),
    TWIN(cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020, _ptsz),
    TWIN(cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020, _ptsz),
    TWIN(cuMemcpyPeer, "cuMemcpyPeer", 4000, _ptds),
    TWIN(cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 4000, _ptsz),
    TWIN(cuMemcpy2D_v2, "cuMemcpy2D", 3020, _ptds),
    TWIN(cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", 3020, _ptds),
    TWIN(cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020, _ptsz),
    TWIN(cuMemsetD8_v2, "cuMemsetD8", 3020, _ptds),
    TWIN(cuMemsetD16_v2, "cuMemsetD16", 3020, _ptds),
    TWIN(cuMemsetD32_v2, "cuMemsetD32", 3020, _ptds),
    TWIN(cuMemsetD8Async, "cuMemsetD8Async", 3020, _ptsz),
    TWIN(cuMemsetD16Async, "cuMemsetD16Async", 3020, _ptsz),
    TWIN(cuMemsetD32Async, "cuMemsetD32Async", 3020, _ptsz),
    ENTRY(cuModuleLoadData, "cuModuleLoadData", 2000),
    ENTRY(cuModuleLoadDataEx, "cuModuleLoadDataEx", 2000),
    ENTRY(cuModuleLoadFatBinary, "cuModuleLoadFatBinary", 2000),
    ENTRY(cuModuleGetFunction, "cuModuleGetFunction", 2000),
    ENTRY(cuModuleUnload, "cuModuleUnload", 2000),
    ENTRY(cuLibraryLoadData, "cuLibraryLoadData", 12000),
    ENTRY(cuLibraryGetKernel, "cuLibraryGetKernel", 12000),
    ENTRY(cuLibraryUnload, "cuLibraryUnload", 12000),
    ENTRY(cuKernelGetFunction, "cuKernelGetFunction", 12000),
    ENTRY(cuFuncGetAttribute, "cuFuncGetAttribute", 2020),
    TWIN(cuLaunchKernel, "cuLaunchKernel", 4000, _ptsz),
    TWIN(cuLaunchKernelEx, "cuLaunchKernelEx", 11060, _ptsz),
    TWIN(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, _ptsz),
    TWIN(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010, _ptsz),
    TWIN(cuStreamEndCapture, "cuStreamEndCapture", 10000, _ptsz),
    TWIN(cuStreamIsCapturing, "cuStreamIsCapturing", 10000, _ptsz),
    ENTRY(cuGraphGetNodes, "cuGraphGetNodes", 10000),
    ENTRY(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040),
    TWIN(cuGraphInstantiateWithParams, "cuGraphInstantiateWithParams", 12000, _ptsz),
    ENTRY(cuGraphExecUpdate_v2, "cuGraphExecUpdate", 12000),
    TWIN(cuGraphUpload, "cuGraphUpload", 11010, _ptsz),
    TWIN(cuGraphLaunch, "cuGraphLaunch", 10000, _ptsz),
    ENTRY(cuGraphExecDestroy, "cuGraphExecDestroy", 10000),
    ENTRY(cuGraphDestroy, "cuGraphDestroy", 10000),
    ENTRY(cuGraphInstantiateWithFlags, "cuGraphInstantiate", 12000),
};

#undef ADDRESS
#undef ENTRY
#undef TWIN

}  // namespace

void* entry_point(const char* name, int version, bool per_thread, bool* too_old) {
  const EntryPoint* best = nullptr;
  for (const EntryPoint& entry : kEntryPoints) {
    if (std::strcmp(entry.name, name) != 0) continue;
    if (entry.since > version) {
      *too_old = true;
    } else if (!best || entry.since > best->since) {
      best = &entry;
    }
  }
  if (!best) return nullptr;
  return per_thread && best->twin ? best->twin : best->address;
}

}  // namespace gpusim
