// SPDX-License-Identifier: Apache-2.0
// What can be asked without a device.
#include <dlfcn.h>
#include <string.h>

#include "contract.h"

enum { kDefaultFlags = 0, kPerThreadFlags = 2 };
enum { kSymbolNotFound = 1, kVersionNotSufficient = 2 };

struct Entry {
  const char* name;    // as it is asked for
  int version;         // of the interface that the caller was built for
  const char* symbol;  // what is meant
  const char* per_thread_symbol;
};

static const struct Entry kEntries[] = {
    {"cuInit", 12000, "cuInit", "cuInit"},
    {"cuCtxSynchronize", 12000, "cuCtxSynchronize", "cuCtxSynchronize"},
    {"cuCtxSetCurrent", 12000, "cuCtxSetCurrent", "cuCtxSetCurrent"},
    {"cuStreamSynchronize", 12000, "cuStreamSynchronize", "cuStreamSynchronize_ptsz"},
    {"cuStreamQuery", 12000, "cuStreamQuery", "cuStreamQuery_ptsz"},
    {"cuStreamWaitEvent", 12000, "cuStreamWaitEvent", "cuStreamWaitEvent_ptsz"},
    {"cuStreamDestroy", 12000, "cuStreamDestroy_v2", "cuStreamDestroy_v2"},
    {"cuEventRecord", 12000, "cuEventRecord", "cuEventRecord_ptsz"},
    {"cuEventQuery", 12000, "cuEventQuery", "cuEventQuery"},
    {"cuEventSynchronize", 12000, "cuEventSynchronize", "cuEventSynchronize"},
    {"cuLaunchKernel", 12000, "cuLaunchKernel", "cuLaunchKernel_ptsz"},
    {"cuLaunchKernelEx", 12000, "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz"},
    {"cuLaunchHostFunc", 12000, "cuLaunchHostFunc", "cuLaunchHostFunc_ptsz"},
    {"cuGraphLaunch", 12000, "cuGraphLaunch", "cuGraphLaunch_ptsz"},
    {"cuMemAlloc", 12000, "cuMemAlloc_v2", "cuMemAlloc_v2"},
    {"cuMemFree", 12000, "cuMemFree_v2", "cuMemFree_v2"},
    {"cuMemAllocAsync", 12000, "cuMemAllocAsync", "cuMemAllocAsync_ptsz"},
    {"cuMemFreeAsync", 12000, "cuMemFreeAsync", "cuMemFreeAsync_ptsz"},
    {"cuMemcpyHtoD", 12000, "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds"},
    {"cuMemcpyDtoH", 12000, "cuMemcpyDtoH_v2", "cuMemcpyDtoH_v2_ptds"},
    {"cuMemcpyHtoDAsync", 12000, "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2_ptsz"},
    {"cuMemcpyDtoHAsync", 12000, "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync_v2_ptsz"},
    {"cuMemcpyAsync", 12000, "cuMemcpyAsync", "cuMemcpyAsync_ptsz"},
    {"cuMemsetD8Async", 12000, "cuMemsetD8Async", "cuMemsetD8Async_ptsz"},
};
enum { kEntryCount = sizeof(kEntries) / sizeof(*kEntries) };

/// Of the symbols that the library exports, all are found, as themselves.
static void look_up_all(unsigned long long flags) {
  unsigned int found = 0;
  for (size_t i = 0; i < kEntryCount; i++) {
    const struct Entry* entry = &kEntries[i];
    const char* symbol = flags == kPerThreadFlags ? entry->per_thread_symbol : entry->symbol;
    const void* exported = dlsym(g_library, symbol);
    void* address = NULL;
    int status = -1;
    const int result =
        cu.cuGetProcAddress_v2(entry->name, &address, entry->version, flags, &status);
    if (!exported) {
      note("no %s is exported, the look-up returned %d", symbol, result);
      continue;
    }
    expect(result == kSuccess && status == 0, "%s: returned %d, status %d", entry->name, result,
           status);
    expect(address == exported, "%s is not the exported %s", entry->name, symbol);
    found++;
  }
  note("%u of %u", found, (unsigned int)kEntryCount);
}

static void look_up_returns_the_exported_function(void) {
  look_up_all(kDefaultFlags);
}

static void look_up_for_per_thread_streams_returns_the_exported_twin(void) {
  look_up_all(kPerThreadFlags);
}

/// That it found nothing is told by the status; the call itself succeeds.
static void find_nothing(const char* name, int version, int wanted_status) {
  void* address = &address;
  int status = -1;
  const int result = cu.cuGetProcAddress_v2(name, &address, version, kDefaultFlags, &status);
  expect(!address, "%s was found", name);
  expect(result == kSuccess && status == wanted_status, "it returned %d, status %d, not 0 and %d",
         result, status, wanted_status);
}

static void look_up_of_an_unknown_name_finds_nothing(void) {
  find_nothing("cuNoSuchFunction", 12000, kSymbolNotFound);
}

static void look_up_of_a_name_with_its_version_finds_nothing(void) {
  find_nothing("cuMemAlloc_v2", 12000, kSymbolNotFound);
}

static void look_up_of_what_an_older_interface_lacks_tells_so(void) {
  find_nothing("cuLaunchKernelEx", 3000, kVersionNotSufficient);
}

static void look_up_without_a_place_for_the_status_is_allowed(void) {
  void* address = NULL;
  EXPECT(cuGetProcAddress_v2("cuInit", &address, 12000, 0, NULL), kSuccess);
  expect(address, "it found nothing");
}

static void driver_version_is_told_before_the_initialisation(void) {
  int version = 0;
  EXPECT(cuDriverGetVersion(&version), kSuccess);
  expect(version >= 11000, "it is %d", version);
  note("%d", version);
}

static void names_of_errors_are_told_before_the_initialisation(void) {
  const char* name = "";
  MUST(cuGetErrorName(kNotReady, &name));
  expect(strcmp(name, "CUDA_ERROR_NOT_READY") == 0, "600 is %s", name);
}

static void calls_before_the_initialisation_return_3(void) {
  void* pointer = NULL;
  unsigned long long memory = 0;
  EXPECT(cuCtxSynchronize(), kNotInitialized);
  EXPECT(cuCtxGetCurrent(&pointer), kNotInitialized);
  EXPECT(cuEventCreate(&pointer, 0), kNotInitialized);
  EXPECT(cuMemAlloc_v2(&memory, 4096), kNotInitialized);
}

const struct Check kLookupChecks[] = {
    RULE_WITHOUT_DEVICE(look_up_returns_the_exported_function, "cuGetProcAddress_v2"),
    RULE_WITHOUT_DEVICE(look_up_for_per_thread_streams_returns_the_exported_twin,
                        "cuGetProcAddress_v2 cuLaunchKernel_ptsz"),
    RULE_WITHOUT_DEVICE(look_up_of_an_unknown_name_finds_nothing, "cuGetProcAddress_v2"),
    RULE_WITHOUT_DEVICE(look_up_of_a_name_with_its_version_finds_nothing, "cuGetProcAddress_v2"),
    RULE_WITHOUT_DEVICE(look_up_of_what_an_older_interface_lacks_tells_so,
                        "cuGetProcAddress_v2 cuLaunchKernelEx"),
    RULE_WITHOUT_DEVICE(look_up_without_a_place_for_the_status_is_allowed, "cuGetProcAddress_v2"),
    RULE_WITHOUT_DEVICE(driver_version_is_told_before_the_initialisation, "cuDriverGetVersion"),
    RULE_WITHOUT_DEVICE(names_of_errors_are_told_before_the_initialisation, "cuGetErrorName"),
    RULE_WITHOUT_DEVICE(calls_before_the_initialisation_return_3, ""),
    RULES_END};
