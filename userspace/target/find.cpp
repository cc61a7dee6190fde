// SPDX-License-Identifier: Apache-2.0
#include "target/find.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace whystall::target {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCgroups = "/sys/fs/cgroup";
constexpr std::size_t kCommBytes = 15;

bool is_group(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path / "cgroup.procs", ignored);
}

/// Where the group of that name is: in the one hierarchy of version 2, or in the first of version 1
/// that has it.
fs::path group_directory(const std::string& path) {
  if (is_group(path)) return path;
  const std::string relative = path.substr(std::min(path.size(), path.find_first_not_of('/')));
  if (relative.empty()) return {};
  if (is_group(fs::path(kCgroups) / relative)) return fs::path(kCgroups) / relative;
  std::error_code ignored;
  for (const auto& hierarchy : fs::directory_iterator(kCgroups, ignored)) {
    if (hierarchy.is_directory(ignored) && is_group(hierarchy.path() / relative))
      return hierarchy.path() / relative;
  }
  return {};
}

void add_processes(const fs::path& group, std::vector<pid_t>& pids) {
  std::ifstream in(group / "cgroup.procs");
  // 0 stands for a process of another namespace.
  for (pid_t pid = 0; in >> pid;) {
    if (pid > 0 && pid != getpid()) pids.push_back(pid);
  }
}

}  // namespace

Result<std::vector<pid_t>> processes_of_cgroup(const std::string& path) {
  const fs::path group = group_directory(path);
  if (group.empty())
    return Error{ErrorCode::kCannotTrace, "there is no control group " + path +
                                              " (give a directory below /sys/fs/cgroup, or a path "
                                              "from /proc/PID/cgroup)"};
  std::vector<pid_t> pids;
  add_processes(group, pids);
  std::error_code ignored;
  for (auto it = fs::recursive_directory_iterator(group, ignored);
       it != fs::recursive_directory_iterator(); it.increment(ignored)) {
    if (ignored) break;  // a group that goes away while it is read
    if (it->is_directory(ignored)) add_processes(it->path(), pids);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

std::vector<pid_t> processes_named(const std::string& comm) {
  const std::string cut = comm.substr(0, kCommBytes);
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (auto it = fs::directory_iterator("/proc", ignored); it != fs::directory_iterator();
       it.increment(ignored)) {
    if (ignored) break;
    const pid_t pid = std::atoi(it->path().filename().c_str());
    if (pid <= 0 || pid == getpid()) continue;
    std::ifstream in(it->path() / "comm");
    std::string name;
    std::getline(in, name);
    if (name == cut) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace whystall::target
