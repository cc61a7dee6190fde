// SPDX-License-Identifier: Apache-2.0
// Modules and libraries, which are the same here.
#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;

namespace {

enum class NeedsContext { kNo, kYes };

CUresult load(CUmodule* module, const void* image, NeedsContext needs) {
  return call([&](Driver& driver) {
    if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
    auto parsed = gpusim::parse_image(static_cast<const char*>(image));
    if (!parsed) return CUDA_ERROR_INVALID_IMAGE;
    const std::lock_guard guard(driver.mutex);
    if (needs == NeedsContext::kYes && !driver.current()) return CUDA_ERROR_INVALID_CONTEXT;
    *module = driver.modules.load(std::move(*parsed));
    return CUDA_SUCCESS;
  });
}

CUresult find(CUfunction* function, CUmodule module, const char* name) {
  return call([&](Driver& driver) {
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    return driver.modules.find(module, name, function);
  });
}

CUresult unload(CUmodule module) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.modules.unload(module) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // namespace

extern "C" {

CUresult sim_cuModuleLoadData(CUmodule* module, const void* image) {
  return load(module, image, NeedsContext::kYes);
}

CUresult sim_cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, int*, void**) {
  return load(module, image, NeedsContext::kYes);
}

CUresult sim_cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return load(module, image, NeedsContext::kYes);
}

CUresult sim_cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return find(function, module, name);
}

CUresult sim_cuModuleUnload(CUmodule module) {
  return unload(module);
}

CUresult sim_cuLibraryLoadData(CUlibrary* library, const void* image, int*, void**, unsigned int,
                               int*, void**, unsigned int) {
  CUmodule module = nullptr;
  const CUresult result = load(library ? &module : nullptr, image, NeedsContext::kNo);
  if (result == CUDA_SUCCESS) *library = reinterpret_cast<CUlibrary>(module);
  return result;
}

CUresult sim_cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  CUfunction function = nullptr;
  const CUresult result =
      find(kernel ? &function : nullptr, reinterpret_cast<CUmodule>(library), name);
  if (result == CUDA_SUCCESS) *kernel = reinterpret_cast<CUkernel>(function);
  return result;
}

CUresult sim_cuLibraryUnload(CUlibrary library) {
  return unload(reinterpret_cast<CUmodule>(library));
}

CUresult sim_cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    *function = reinterpret_cast<CUfunction>(kernel);
    return driver.modules.function(*function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult sim_cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return call([&](Driver& driver) {
    constexpr int kMaxThreads = 1024;
    const std::lock_guard guard(driver.mutex);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (!driver.modules.function(function)) return CUDA_ERROR_INVALID_HANDLE;
    *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? kMaxThreads : 0;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuModuleLoadData);
GPUSIM_EXPORT(cuModuleLoadDataEx);
GPUSIM_EXPORT(cuModuleLoadFatBinary);
GPUSIM_EXPORT(cuModuleGetFunction);
GPUSIM_EXPORT(cuModuleUnload);
GPUSIM_EXPORT(cuLibraryLoadData);
GPUSIM_EXPORT(cuLibraryGetKernel);
GPUSIM_EXPORT(cuLibraryUnload);
GPUSIM_EXPORT(cuKernelGetFunction);
GPUSIM_EXPORT(cuFuncGetAttribute);
