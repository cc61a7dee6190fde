// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace whystall::target {

/// The processes of a control group and of the groups in it. `path` is a directory of the cgroup
/// file system, or the group's path as /proc/PID/cgroup gives it. Error: cannot trace, when there
/// is no such group.
Result<std::vector<pid_t>> processes_of_cgroup(const std::string& path);

/// The processes whose command name is `comm`, which the kernel cuts at 15 bytes.
std::vector<pid_t> processes_named(const std::string& comm);

}  // namespace whystall::target
