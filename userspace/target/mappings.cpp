// SPDX-License-Identifier: Apache-2.0
#include "target/mappings.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <utility>

namespace whystall::target {

namespace {

std::uint32_t device_of(unsigned major, unsigned minor) {
  return major << 20 | (minor & 0xfffff);
}

/// "36 35 8:1 / /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw": the type of each device.
std::map<std::uint32_t, std::string> types_of_mounts(pid_t pid) {
  std::map<std::uint32_t, std::string> types;
  std::ifstream mounts("/proc/" + std::to_string(pid) + "/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    unsigned major = 0, minor = 0;
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos ||
        std::sscanf(line.c_str(), "%*u %*u %u:%u", &major, &minor) != 2)
      continue;
    const std::size_t begin = dash + 3;
    types[device_of(major, minor)] = line.substr(begin, line.find(' ', begin) - begin);
  }
  return types;
}

}  // namespace

std::vector<MappedFile> mapped_files(pid_t pid, std::size_t limit) {
  std::vector<MappedFile> found;
  std::set<std::pair<std::uint64_t, std::uint32_t>> known;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::map<std::uint32_t, std::string> types;
  for (std::string line; found.size() < limit && std::getline(maps, line);) {
    MappedFile m;
    unsigned major = 0, minor = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%*x-%*x %*s %*x %x:%x %" SCNu64 " %n", &major, &minor, &m.ino,
                    &path) != 3 ||
        m.ino == 0 || path <= 0 || line[static_cast<std::size_t>(path)] != '/')
      continue;
    m.dev = device_of(major, minor);
    if (!known.insert({m.ino, m.dev}).second) continue;
    m.path = line.substr(static_cast<std::size_t>(path));
    if (types.empty()) types = types_of_mounts(pid);
    if (const auto type = types.find(m.dev); type != types.end()) m.fs_type = type->second;
    found.push_back(std::move(m));
  }
  return found;
}

}  // namespace whystall::target
