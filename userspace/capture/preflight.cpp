// SPDX-License-Identifier: Apache-2.0
#include "capture/preflight.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string_view>

namespace whystall::capture {

namespace {

/// The inode that the kernel gives to the first process namespace (PROC_PID_INIT_INO), since 3.8.
constexpr ino_t kHostPidNamespace = 0xEFFFFFFC;
constexpr int kOldestMajor = 6;
constexpr int kOldestMinor = 1;
/// Bits of CapEff: loading programs, perf events for probes on user code, other users' /proc.
constexpr int kCapPerfmon = 38, kCapBpf = 39, kCapSysAdmin = 21;

bool has_rights() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (!line.starts_with("CapEff:")) continue;
    const unsigned long long caps = std::stoull(line.substr(7), nullptr, 16);
    if (caps >> kCapSysAdmin & 1) return true;
    return (caps >> kCapBpf & 1) && (caps >> kCapPerfmon & 1) && geteuid() == 0;
  }
  return false;
}

Error cannot(const std::string& text) {
  return {ErrorCode::kCannotTrace, text};
}

}  // namespace

KernelVersion parse_kernel_version(const std::string& release) {
  KernelVersion version{0, 0};
  if (std::sscanf(release.c_str(), "%d.%d", &version.major, &version.minor) != 2) return {0, 0};
  return version;
}

Status check_host() {
  utsname name{};
  uname(&name);
  if (std::string_view(name.machine) != "x86_64") {
    return cannot("this whystall runs on x86-64 only, and this machine is " +
                  std::string(name.machine));
  }
  const KernelVersion version = parse_kernel_version(name.release);
  if (version.major < kOldestMajor ||
      (version.major == kOldestMajor && version.minor < kOldestMinor)) {
    return cannot("this kernel is " + std::string(name.release) +
                  ", and whystall needs 6.1 or later");
  }
  if (!has_rights()) return cannot("tracing needs root: run it with sudo");
  if (access("/sys/kernel/btf/vmlinux", R_OK) != 0) {
    return cannot(
        "this kernel has no type information (/sys/kernel/btf/vmlinux), which tracing needs");
  }
  struct stat ns{};
  if (stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino != kHostPidNamespace) {
    return cannot(
        "whystall sees only a part of the host's processes here: run it in the host's process "
        "namespace "
        "(in a container: --pid=host)");
  }
  return Nothing{};
}

}  // namespace whystall::capture
