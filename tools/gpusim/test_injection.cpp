// SPDX-License-Identifier: Apache-2.0
// What a test has the driver load at cuInit: leaves in the environment what it found.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* before = std::getenv("GPUSIM_TEST_INJECTED");
  int devices = 0;
  void* driver = dlopen(GPUSIM_LIB, RTLD_NOW | RTLD_NOLOAD);
  const auto count =
      driver ? reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount")) : nullptr;
  if (!count || count(&devices) != 0) return 0;
  char text[64];
  std::snprintf(text, sizeof(text), "%s%d device", before ? before : "", devices);
  setenv("GPUSIM_TEST_INJECTED", text, 1);
  return 1;
}
