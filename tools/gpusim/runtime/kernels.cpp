// SPDX-License-Identifier: Apache-2.0
// The program's kernels, registered as the code that nvcc makes registers them.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime.h"

using gpusim::runtime::call;
using gpusim::runtime::Driver;

namespace {

struct Kernel;

struct Image {
  const void* data = nullptr;
  void* module = nullptr;
  std::vector<std::unique_ptr<Kernel>> kernels;
};

struct Kernel {
  Image* image;
  const void* stub;
  std::string name;
  void* function = nullptr;
};

// Registration may come before this library's own constructors, and end after its destructors.
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Image>> images;

  static Registry& get() {
    static Registry* const registry = new Registry;
    return *registry;
  }

  Kernel* find(const void* stub_or_handle) {
    for (const auto& image : images) {
      for (const auto& kernel : image->kernels) {
        if (kernel->stub == stub_or_handle || kernel.get() == stub_or_handle) return kernel.get();
      }
    }
    return nullptr;
  }
};

void** handle_of(Image* image) {
  return reinterpret_cast<void**>(image);
}
Image* image_of(void** handle) {
  return reinterpret_cast<Image*>(handle);
}

}  // namespace

namespace gpusim::runtime {

cudaError_t find_kernel(const Driver& driver, const void* stub_or_handle, void** function) {
  Registry& registry = Registry::get();
  const std::lock_guard guard(registry.mutex);
  Kernel* kernel = registry.find(stub_or_handle);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  Image& image = *kernel->image;
  if (!image.module) {
    const cudaError_t error = call(driver.cuModuleLoadData, &image.module, image.data);
    if (error != cudaSuccess) return error;
  }
  if (!kernel->function) {
    const cudaError_t error = call(driver.cuModuleGetFunction, &kernel->function, image.module,
                                   static_cast<const char*>(kernel->name.c_str()));
    if (error != cudaSuccess) return error;
  }
  *function = kernel->function;
  return cudaSuccess;
}

}  // namespace gpusim::runtime

extern "C" {

void** __cudaRegisterFatBinary(void* fat_binary) {
  const auto* wrapper = static_cast<const cudartFatBinary*>(fat_binary);
  if (!wrapper || wrapper->magic != CUDART_FAT_BINARY_MAGIC) return nullptr;
  Registry& registry = Registry::get();
  const std::lock_guard guard(registry.mutex);
  registry.images.push_back(std::make_unique<Image>());
  registry.images.back()->data = wrapper->image;
  return handle_of(registry.images.back().get());
}

void __cudaRegisterFunction(void** fat_binary, const char* stub, char*, const char* name, int,
                            void*, void*, void*, void*, int*) {
  if (!fat_binary) return;
  Registry& registry = Registry::get();
  const std::lock_guard guard(registry.mutex);
  Image* image = image_of(fat_binary);
  image->kernels.push_back(std::make_unique<Kernel>(Kernel{image, stub, name}));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** fat_binary) {
  Registry& registry = Registry::get();
  const std::lock_guard guard(registry.mutex);
  std::erase_if(registry.images,
                [&](const auto& image) { return handle_of(image.get()) == fat_binary; });
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  Registry& registry = Registry::get();
  const std::lock_guard guard(registry.mutex);
  Kernel* found = registry.find(stub);
  if (!found || !kernel) return gpusim::runtime::remember(cudaErrorInvalidDeviceFunction);
  *kernel = reinterpret_cast<cudaKernel_t>(found);
  return cudaSuccess;
}

}  // extern "C"
