// SPDX-License-Identifier: Apache-2.0
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse.h>

namespace faults {

// The operations that just pass through to the backing directory: everything but open, read, write,
// getattr, truncate and init, which slowfs.cpp adds.
fuse_operations passthrough_operations();

// The backing directory, open before the first request arrives.
extern int backing_fd;

// "/a/b" as a path relative to the backing directory.
inline const char* relative(const char* path) {
  return path[1] != '\0' ? path + 1 : ".";
}

}  // namespace faults
