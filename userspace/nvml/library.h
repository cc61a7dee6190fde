/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "nvml_abi.h"

/* Those that the library lacks are null. */
typedef struct {
  int (*init)(void);
  int (*count)(unsigned int* count);
  int (*handle)(unsigned int index, nvml_device* device);
  int (*uuid)(nvml_device device, char* text, unsigned int bytes);
  int (*pci)(nvml_device device, nvml_pci_info* info);
  int (*minor)(nvml_device device, unsigned int* number);
  int (*name)(nvml_device device, char* text, unsigned int bytes);
  int (*utilization)(nvml_device device, nvml_utilization* rates);
  int (*memory)(nvml_device device, nvml_memory* memory);
  int (*processes)(nvml_device device, unsigned int* count, nvml_process* infos);
} nvml_functions;

/*
 * Opens NVML where the linker finds it, else where WHYSTALL_NVML_LIBRARY says, else in the root
 * directory of `target` (0: none). What lies there is the target's own: it is loaded as nobody,
 * without any privilege. False: `why` holds one sentence.
 */
bool open_library(pid_t target, nvml_functions* functions, char* why, size_t why_bytes);

/* Ends this process with its parent, whatever it is doing then. False: the parent is gone. A change
 * of the user id takes that away. */
bool die_with(pid_t parent);
