/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char kLibrary[] = "libnvidia-ml.so.1";

enum { kNobody = 65534 };

/* Where distributions and container run-times put it. */
static const char* const kPlaces[] = {"usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib",
                                      "usr/local/nvidia/lib64",
                                      "run/nvidia/driver/usr/lib/x86_64-linux-gnu"};

bool die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return getppid() == parent;
}

static bool drop_privileges(void) {
  const pid_t parent = getppid();
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
                         setresuid(kNobody, kNobody, kNobody) != 0))
    return false;
  return die_with(parent);
}

/* A regular file below the target's root, with links resolved as the target would; -1 if none. */
static int open_in_root(pid_t target) {
  char path[256];
  snprintf(path, sizeof path, "/proc/%d/root", (int)target);
  const int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int fd = -1;
  for (size_t i = 0; root >= 0 && fd < 0 && i < sizeof kPlaces / sizeof *kPlaces; i++) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_IN_ROOT};
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", kPlaces[i], kLibrary);
    fd = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
      close(fd);
      fd = -1;
    }
  }
  if (root >= 0) close(root);
  return fd;
}

static void* open_targets(pid_t target) {
  /* The same that was not found in the first place. */
  struct stat own, its;
  char root[64];
  snprintf(root, sizeof root, "/proc/%d/root/", (int)target);
  if (stat("/", &own) == 0 && stat(root, &its) == 0 && own.st_dev == its.st_dev &&
      own.st_ino == its.st_ino)
    return NULL;
  const int fd = open_in_root(target);
  if (fd < 0 || !drop_privileges()) return NULL;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void* find_library(pid_t target, char* why, size_t why_bytes) {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  const char* error = dlerror();
  if (!error || strstr(error, "No such file"))
    snprintf(why, why_bytes, "%s is not installed", kLibrary);
  else
    snprintf(why, why_bytes, "%s", error);
  const char* named = getenv("WHYSTALL_NVML_LIBRARY");
  if (named && *named) {
    library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (!library && (error = dlerror())) snprintf(why, why_bytes, "%s", error);
  }
  if (library || target <= 0) return library;
  dlerror();
  library = open_targets(target);
  if (!library && (error = dlerror())) snprintf(why, why_bytes, "the target's: %s", error);
  return library;
}

bool open_library(pid_t target, nvml_functions* functions, char* why, size_t why_bytes) {
  void* library = find_library(target, why, why_bytes);
  if (!library) return false;
  /* POSIX gives function pointers and object pointers the same size. */
  *(void**)&functions->init = dlsym(library, "nvmlInit_v2");
  *(void**)&functions->count = dlsym(library, "nvmlDeviceGetCount_v2");
  *(void**)&functions->handle = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
  *(void**)&functions->uuid = dlsym(library, "nvmlDeviceGetUUID");
  *(void**)&functions->pci = dlsym(library, "nvmlDeviceGetPciInfo_v3");
  *(void**)&functions->minor = dlsym(library, "nvmlDeviceGetMinorNumber");
  *(void**)&functions->name = dlsym(library, "nvmlDeviceGetName");
  *(void**)&functions->utilization = dlsym(library, "nvmlDeviceGetUtilizationRates");
  *(void**)&functions->memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
  *(void**)&functions->processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (functions->init && functions->count && functions->handle) return true;
  snprintf(why, why_bytes, "%s lacks nvmlInit_v2 or what finds a device", kLibrary);
  return false;
}
