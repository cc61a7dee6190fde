/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whystall-nvml PARENT TARGET: reads NVML until its input ends, and writes one line of JSON for
 * each thing that it learns. A program of its own, because NVML must be loaded dynamically, and
 * because a call into it may crash, or block for seconds: then this process does, and whystall does
 * not.
 *
 *   {"missing":WHY}   nothing can be read; the last line
 *   {"device":{"index":N,"uuid":S,"pci_bus_id":S,"minor":N,"name":S}}   without what is not known
 *   {"dropped":{"device":N,"why":S}}   one metric of this device is no longer read
 *   {"sample":{"device":N,"before_ns":T,"after_ns":T,"gpu_percent":N,"memory_percent":N}}
 *   {"memory":{"device":N,"t_ns":T,"used_bytes":N,"total_bytes":N}}
 *   {"processes":{"device":N,"t_ns":T,"pids":[N,…]}}
 *
 * Times are CLOCK_MONOTONIC. Anything else on its output is an error message of the system's.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "library.h"

enum { kMaxDevices = 64, kMaxProcesses = 256, kSlowEvery = 5, kMaxFailures = 10 };

static const int64_t kPeriodNs = 200 * 1000 * 1000;

enum metric { kUtilization, kMemory, kProcesses, kMetrics };
static const char* const kFunctions[kMetrics] = {"nvmlDeviceGetUtilizationRates",
                                                 "nvmlDeviceGetMemoryInfo",
                                                 "nvmlDeviceGetComputeRunningProcesses_v3"};

typedef struct {
  unsigned int index;
  nvml_device handle;
  bool dropped[kMetrics];
  int failures[kMetrics]; /* in a row */
} device;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* What NVML hands out is ASCII; what is not, becomes a question mark. */
static void print_string(const char* text) {
  putchar('"');
  for (; *text; text++) {
    if (*text < ' ' || *text > '~')
      putchar('?');
    else if (*text == '"' || *text == '\\')
      printf("\\%c", *text);
    else
      putchar(*text);
  }
  putchar('"');
}

/* One line, on its way at once: what comes next may block. */
static void end_line(const char* end) {
  puts(end);
  fflush(stdout);
}

static int missing(const char* why) {
  fputs("{\"missing\":", stdout);
  print_string(why);
  end_line("}");
  return 0;
}

static int init_failed(int error) {
  char text[64];
  switch (error) {
    case kNvmlDriverNotLoaded:
      return missing("NVIDIA's driver is not loaded");
    case kNvmlLibraryNotFound:
      return missing("NVML misses a library of the driver's");
    case kNvmlNoPermission:
      return missing("no permission to use the devices");
    case kNvmlMismatch:
      return missing("the driver and its library are of different versions");
    default:
      snprintf(text, sizeof text, "nvmlInit_v2 failed with error %d", error);
      return missing(text);
  }
}

static void drop(device* d, enum metric metric, const char* why) {
  d->dropped[metric] = true;
  printf("{\"dropped\":{\"device\":%u,\"why\":\"%s %s\"}}", d->index, kFunctions[metric], why);
  end_line("");
}

/* True: there is a value. One that never comes, or has not come for long, is given up. */
static bool succeeded(device* d, enum metric metric, int error) {
  if (error == 0) {
    d->failures[metric] = 0;
    return true;
  }
  d->failures[metric]++;
  if (error == kNvmlNotSupported || error == kNvmlNoPermission || error == kNvmlGpuIsLost ||
      d->failures[metric] >= kMaxFailures) {
    char why[32];
    snprintf(why, sizeof why, "failed: error %d", error);
    drop(d, metric, why);
  }
  return false;
}

static void describe(const nvml_functions* nvml, const device* d) {
  char text[kNvmlUuidBytes] = "";
  static_assert(kNvmlNameBytes <= kNvmlUuidBytes, "one buffer for both");
  nvml_pci_info pci = {.bus_id = ""};
  unsigned int minor = 0;
  printf("{\"device\":{\"index\":%u", d->index);
  if (nvml->uuid && nvml->uuid(d->handle, text, sizeof text) == 0) {
    text[sizeof text - 1] = '\0';
    fputs(",\"uuid\":", stdout);
    print_string(text);
  }
  if (nvml->pci && nvml->pci(d->handle, &pci) == 0) {
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    fputs(",\"pci_bus_id\":", stdout);
    print_string(pci.bus_id);
  }
  if (nvml->minor && nvml->minor(d->handle, &minor) == 0) printf(",\"minor\":%u", minor);
  if (nvml->name && nvml->name(d->handle, text, kNvmlNameBytes) == 0) {
    text[sizeof text - 1] = '\0';
    fputs(",\"name\":", stdout);
    print_string(text);
  }
  end_line("}}");
}

static void read_utilization(const nvml_functions* nvml, device* d) {
  nvml_utilization rates = {0, 0};
  const int64_t before = now_ns();
  const int error = nvml->utilization(d->handle, &rates);
  const int64_t after = now_ns();
  if (!succeeded(d, kUtilization, error)) return;
  printf("{\"sample\":{\"device\":%u,\"before_ns\":%" PRId64 ",\"after_ns\":%" PRId64
         ",\"gpu_percent\":%u,\"memory_percent\":%u",
         d->index, before, after, rates.gpu, rates.memory);
  end_line("}}");
}

static void read_memory(const nvml_functions* nvml, device* d) {
  nvml_memory memory = {0, 0, 0};
  if (!succeeded(d, kMemory, nvml->memory(d->handle, &memory))) return;
  printf("{\"memory\":{\"device\":%u,\"t_ns\":%" PRId64 ",\"used_bytes\":%llu,\"total_bytes\":%llu",
         d->index, now_ns(), memory.used, memory.total);
  end_line("}}");
}

static void read_processes(const nvml_functions* nvml, device* d) {
  /* Some drivers of the 535 series fill in 32 bytes for each: then only the first is right, but
   * nothing may be overwritten. */
  static nvml_process processes[2 * kMaxProcesses];
  unsigned int count = kMaxProcesses;
  if (!succeeded(d, kProcesses, nvml->processes(d->handle, &count, processes))) return;
  printf("{\"processes\":{\"device\":%u,\"t_ns\":%" PRId64 ",\"pids\":[", d->index, now_ns());
  for (unsigned int i = 0; i < count && i < kMaxProcesses; i++)
    printf(i ? ",%u" : "%u", processes[i].pid);
  end_line("]}}");
}

static unsigned int find_devices(const nvml_functions* nvml, device* devices) {
  unsigned int count = 0, found = 0;
  if (nvml->count(&count) != 0) return 0;
  for (unsigned int index = 0; index < count && found < kMaxDevices; index++) {
    device* d = &devices[found];
    *d = (device){.index = index};
    if (nvml->handle(index, &d->handle) != 0) continue; /* lost, or not ours to use */
    found++;
    describe(nvml, d);
    if (!nvml->utilization) drop(d, kUtilization, "is not in the library");
    if (!nvml->memory) drop(d, kMemory, "is not in the library");
    if (!nvml->processes) drop(d, kProcesses, "is not in the library");
  }
  return found;
}

static void read_all(const nvml_functions* nvml, device* d, bool slow_too) {
  if (!d->dropped[kUtilization]) read_utilization(nvml, d);
  if (slow_too && !d->dropped[kMemory]) read_memory(nvml, d);
  if (slow_too && !d->dropped[kProcesses]) read_processes(nvml, d);
}

/* Waits until `next`, and looks at the input in any case. False: that has ended. */
static bool wait_until(int64_t next) {
  for (;;) {
    const int64_t left = next - now_ns();
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, left > 0 ? (int)(left / 1000000) + 1 : 0) > 0) return false;
    if (left <= 0) return true;
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  /* Ctrl-C is whystall's to handle. */
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  prctl(PR_SET_NAME, "whystall-nvml");
  if (!die_with(atoi(argv[1]))) return 0;

  nvml_functions nvml = {0};
  char why[256] = "";
  if (!open_library(atoi(argv[2]), &nvml, why, sizeof why)) return missing(why);
  const int error = nvml.init();
  if (error != 0) return init_failed(error);
  static device devices[kMaxDevices];
  const unsigned int count = find_devices(&nvml, devices);
  if (count == 0) return missing("NVML finds no device");

  int64_t next = now_ns();
  for (unsigned int round = 0;; round++) {
    for (unsigned int i = 0; i < count; i++) read_all(&nvml, &devices[i], round % kSlowEvery == 0);
    next += kPeriodNs;
    if (next < now_ns()) next = now_ns();
    /* Not by way of NVML's own clean-up, which may block. */
    if (!wait_until(next)) _exit(0);
  }
}
