// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace whystall::capture {

/// Whether this host and this user can trace at all: x86-64, kernel 6.1 or later, BTF, the rights,
/// and the host's own process namespace. Error: cannot trace, with the first thing that is missing.
Status check_host();

/// "6.18.44-amd64" → {6, 18}; {0, 0} when it does not start with two numbers.
struct KernelVersion {
  int major, minor;
};
KernelVersion parse_kernel_version(const std::string& release);

}  // namespace whystall::capture
