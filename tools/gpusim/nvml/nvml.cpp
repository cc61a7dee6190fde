// SPDX-License-Identifier: Apache-2.0
// The stand-in of libnvidia-ml.so.1: shows the devices of GPUSIM_DIR, a list of directories that is
// separated by colons. Utilisation, memory and processes only; faults.h says what can go wrong.
#include "nvml/nvml_abi.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "faults.h"
#include "shared_device.h"

namespace gpusim {
namespace {

struct Device {
  unsigned int index;
  SharedDevice shared;
};
using Devices = std::vector<std::unique_ptr<Device>>;

// The library's state between its C calls; set by nvmlInit_v2.
Devices& devices() {
  static Devices all;
  return all;
}

void open_devices() {
  const char* directories = std::getenv("GPUSIM_DIR");
  std::string_view rest = directories ? directories : "";
  devices().clear();
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    auto device = std::make_unique<Device>();
    device->index = static_cast<unsigned int>(devices().size());
    if (device->shared.open(std::string(rest.substr(0, colon)))) {
      devices().push_back(std::move(device));
    }
    rest = colon == std::string_view::npos ? "" : rest.substr(colon + 1);
  }
}

const Device& device_of(nvml_device handle) {
  return *static_cast<const Device*>(handle);
}

// Also of a device whose gpusimd is gone: it has fallen off the bus.
int enter(const char* function, nvml_device handle) {
  if (const int error = fault(function)) return error;
  return device_of(handle).shared.alive() ? 0 : kNvmlGpuIsLost;
}

int copy_text(const std::string& text, char* to, unsigned int bytes) {
  if (text.size() >= bytes) return kNvmlInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}

int sim_nvmlInit_v2() {
  if (const int error = fault("nvmlInit_v2")) return error;
  open_devices();
  return devices().empty() ? kNvmlDriverNotLoaded : 0;
}

int sim_nvmlDeviceGetCount_v2(unsigned int* count) {
  if (const int error = fault("nvmlDeviceGetCount_v2")) return error;
  *count = static_cast<unsigned int>(devices().size());
  return 0;
}

int sim_nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvml_device* handle) {
  if (const int error = fault("nvmlDeviceGetHandleByIndex_v2")) return error;
  if (index >= devices().size()) return kNvmlInvalidArgument;
  *handle = devices()[index].get();
  return 0;
}

int sim_nvmlDeviceGetUUID(nvml_device handle, char* to, unsigned int bytes) {
  if (const int error = enter("nvmlDeviceGetUUID", handle)) return error;
  std::string text = "GPU";
  const uint8_t* uuid = device_of(handle).shared.memory().uuid;
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", uuid[i]);
    text += digits;
  }
  return copy_text(text, to, bytes);
}

int sim_nvmlDeviceGetPciInfo_v3(nvml_device handle, nvml_pci_info* info) {
  if (const int error = enter("nvmlDeviceGetPciInfo_v3", handle)) return error;
  const char* id = device_of(handle).shared.config().pci_bus_id;
  *info = {};
  std::sscanf(id, "%x:%x:%x", &info->domain, &info->bus, &info->device);
  std::snprintf(info->bus_id_legacy, sizeof(info->bus_id_legacy), "%.15s", id);
  std::snprintf(info->bus_id, sizeof(info->bus_id), "0000%.27s", id);
  return 0;
}

int sim_nvmlDeviceGetMinorNumber(nvml_device handle, unsigned int* number) {
  if (const int error = enter("nvmlDeviceGetMinorNumber", handle)) return error;
  *number = device_of(handle).index;
  return 0;
}

int sim_nvmlDeviceGetName(nvml_device handle, char* to, unsigned int bytes) {
  if (const int error = enter("nvmlDeviceGetName", handle)) return error;
  return copy_text(device_of(handle).shared.config().name, to, bytes);
}

int sim_nvmlDeviceGetUtilizationRates(nvml_device handle, nvml_utilization* rates) {
  if (const int error = enter("nvmlDeviceGetUtilizationRates", handle)) return error;
  const DeviceMemory& memory = device_of(handle).shared.memory();
  *rates = {memory.utilization_percent.load(std::memory_order_acquire), 0};
  return 0;
}

int sim_nvmlDeviceGetMemoryInfo(nvml_device handle, nvml_memory* info) {
  if (const int error = enter("nvmlDeviceGetMemoryInfo", handle)) return error;
  const SharedDevice& shared = device_of(handle).shared;
  const uint64_t total = shared.config().memory_bytes;
  const uint64_t used = shared.memory().memory_used_bytes.load(std::memory_order_acquire);
  *info = {total, used < total ? total - used : 0, used};
  return 0;
}

int sim_nvmlDeviceGetComputeRunningProcesses_v3(nvml_device handle, unsigned int* count,
                                                nvml_process* processes) {
  if (const int error = enter("nvmlDeviceGetComputeRunningProcesses_v3", handle)) return error;
  const DeviceMemory& memory = device_of(handle).shared.memory();
  const unsigned int room = *count;
  *count = 0;
  if (hides_processes()) return 0;
  for (uint32_t slot = 0; slot < kMaxClients; ++slot) {
    const uint32_t pid = memory.client_pids[slot].load(std::memory_order_acquire);
    if (pid == 0) continue;
    const uint64_t bytes = memory.client_bytes[slot].load(std::memory_order_relaxed);
    if (*count < room) processes[*count] = {pid, bytes, ~0u, ~0u};
    ++*count;
  }
  return *count > room ? kNvmlInsufficientSize : 0;
}

}  // namespace
}  // namespace gpusim

// An indirect function whose resolver finds nothing is one that dlsym() does not find.
#define GPUSIM_NVML_EXPORT(name)                                     \
  extern "C" decltype(&gpusim::sim_##name) gpusim_resolve_##name() { \
    return gpusim::lacks(#name) ? nullptr : &gpusim::sim_##name;     \
  }                                                                  \
  extern "C" __attribute__((ifunc("gpusim_resolve_" #name),          \
                            visibility("default"))) decltype(gpusim::sim_##name) name

GPUSIM_NVML_EXPORT(nvmlInit_v2);
GPUSIM_NVML_EXPORT(nvmlDeviceGetCount_v2);
GPUSIM_NVML_EXPORT(nvmlDeviceGetHandleByIndex_v2);
GPUSIM_NVML_EXPORT(nvmlDeviceGetUUID);
GPUSIM_NVML_EXPORT(nvmlDeviceGetPciInfo_v3);
GPUSIM_NVML_EXPORT(nvmlDeviceGetMinorNumber);
GPUSIM_NVML_EXPORT(nvmlDeviceGetName);
GPUSIM_NVML_EXPORT(nvmlDeviceGetUtilizationRates);
GPUSIM_NVML_EXPORT(nvmlDeviceGetMemoryInfo);
GPUSIM_NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v3);
