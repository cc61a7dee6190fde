/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NVML's C interface that is used here: what the driver's libnvidia-ml.so.1 exports.
 * All functions return an nvmlReturn_t, here an int; 0 is success. The stand-in in tools/gpusim is
 * built on this header too.
 */
#pragma once

#include <assert.h>
#include <stddef.h>

enum {
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlInsufficientSize = 7,
  kNvmlDriverNotLoaded = 9,
  kNvmlLibraryNotFound = 12,
  kNvmlGpuIsLost = 15,
  kNvmlMismatch = 18
};

enum { kNvmlUuidBytes = 96, kNvmlNameBytes = 96 };

typedef void* nvml_device;

typedef struct {
  unsigned int gpu;    /* per cent of the last sample period in which a kernel ran; not copies */
  unsigned int memory; /* ... in which device memory was read or written */
} nvml_utilization;

typedef struct {
  unsigned long long total, free, used;
} nvml_memory;

typedef struct {
  char bus_id_legacy[16];
  unsigned int domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
} nvml_pci_info;

/* What nvmlDeviceGetComputeRunningProcesses_v3 fills in. */
typedef struct {
  unsigned int pid;
  unsigned long long used_memory;
  unsigned int gpu_instance, compute_instance;
} nvml_process;

static_assert(sizeof(nvml_utilization) == 8, "nvmlUtilization_t");
static_assert(sizeof(nvml_memory) == 24, "nvmlMemory_t");
static_assert(sizeof(nvml_pci_info) == 68 && offsetof(nvml_pci_info, bus_id) == 36,
              "nvmlPciInfo_t");
static_assert(sizeof(nvml_process) == 24, "nvmlProcessInfo_v2_t");
