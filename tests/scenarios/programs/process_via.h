// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace loop {

// As fork(). The child has this name and ends with its parent.
pid_t fork_child(const char* name);

// True in a new process with this name that is nobody's child: not of the program's family, and not
// ended with it.
bool fork_stranger(const char* name);

}  // namespace loop
