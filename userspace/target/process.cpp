// SPDX-License-Identifier: Apache-2.0
#include "target/process.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace whystall::target {

namespace {

std::string proc_path(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The parent, from /proc/PID/stat; the command name in it may hold blanks and brackets.
pid_t parent_of(pid_t pid) {
  const std::string stat = read_file(proc_path(pid, "stat"));
  const std::size_t bracket = stat.rfind(')');
  if (bracket == std::string::npos) return 0;
  std::istringstream rest(stat.substr(bracket + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

/// "ADDRESS PERMISSIONS OFFSET DEVICE INODE PATH": a named piece of memory has a name that the
/// process chose, and no inode.
bool has_inode(const std::string& line) {
  std::istringstream fields(line);
  std::string range, permissions, offset, device, inode;
  fields >> range >> permissions >> offset >> device >> inode;
  return !inode.empty() && inode != "0";
}

bool is_driver_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return name.starts_with("libcuda.so");
}

}  // namespace

Result<Process> look_up(pid_t pid) {
  Process process{pid, read_file(proc_path(pid, "comm")), read_file(proc_path(pid, "cmdline"))};
  if (process.comm.empty()) {
    return Error{ErrorCode::kCannotTrace, "there is no process " + std::to_string(pid)};
  }
  // A thread's number also has a directory in /proc, but is not a process.
  const std::string status = read_file(proc_path(pid, "status"));
  if (const std::size_t state = status.find("\nState:"); state != std::string::npos) {
    const std::size_t letter = status.find_first_not_of(" \t", state + 7);
    if (letter != std::string::npos && (status[letter] == 'Z' || status[letter] == 'X')) {
      return Error{ErrorCode::kTargetGone, "process " + std::to_string(pid) + " has ended already"};
    }
  }
  const std::size_t at = status.find("\nTgid:");
  const pid_t tgid = at == std::string::npos ? pid : std::atoi(status.c_str() + at + 6);
  if (tgid != pid) {
    return Error{ErrorCode::kCannotTrace, std::to_string(pid) + " is a thread of process " +
                                              std::to_string(tgid) + "; give that number"};
  }
  process.comm.erase(process.comm.find_last_not_of('\n') + 1);
  std::replace(process.command_line.begin(), process.command_line.end(), '\0', ' ');
  process.command_line.erase(process.command_line.find_last_not_of(' ') + 1);
  return process;
}

bool refresh(Process& process) {
  auto now = look_up(process.pid);
  if (!now || (now->comm == process.comm && now->command_line == process.command_line))
    return false;
  process = std::move(*now);
  return true;
}

std::vector<pid_t> with_descendants(const std::vector<pid_t>& pids) {
  std::multimap<pid_t, pid_t> children;
  std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  while (dirent* entry = proc ? readdir(proc.get()) : nullptr) {
    const pid_t child = std::atoi(entry->d_name);
    if (child > 0) children.emplace(parent_of(child), child);
  }
  std::vector<pid_t> found;
  std::set<pid_t> known;
  auto add = [&](pid_t pid) {
    if (known.insert(pid).second) found.push_back(pid);
  };
  for (const pid_t pid : pids) add(pid);
  for (std::size_t i = 0; i < found.size(); i++) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto it = first; it != last; ++it) add(it->second);
  }
  return found;
}

std::optional<MappedLibrary> find_driver_library(pid_t pid) {
  std::ifstream maps(proc_path(pid, "maps"));
  std::optional<MappedLibrary> found;
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    std::string path = line.substr(slash);
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
    if (!is_driver_name(path) || !has_inode(line)) continue;
    const std::size_t space = line.find(' ');
    const std::string range = line.substr(0, space);
    // map_files leads to the exact file, also when its name now belongs to another.
    if (!found)
      found = MappedLibrary{pid, path, proc_path(pid, ("map_files/" + range).c_str()), {}};
    CodeRange code{};
    if (found->shown_path == path && line.size() > space + 3 && line[space + 3] == 'x' &&
        std::sscanf(range.c_str(), "%" SCNx64 "-%" SCNx64, &code.lo, &code.hi) == 2)
      found->code.push_back(code);
  }
  return found;
}

}  // namespace whystall::target
