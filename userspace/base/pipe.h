// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace whystall {

/// Both ends are closed by an exec.
struct Pipe {
  Fd read, write;
};

/// Error: cannot trace.
Result<Pipe> make_pipe();

}  // namespace whystall
