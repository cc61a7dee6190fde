// SPDX-License-Identifier: Apache-2.0
#include "target/mappings.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <map>
#include <utility>

namespace whystall::target {

namespace {

/// Pieces of code of one file: a library has one.
constexpr std::size_t kMostCode = 16;

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
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::size_t> known;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::map<std::uint32_t, std::string> types;
  for (std::string line; std::getline(maps, line);) {
    MappedFile m;
    std::uint64_t lo = 0, hi = 0;
    char may_execute = 0;
    unsigned major = 0, minor = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %*x %x:%x %" SCNu64 " %n",
                    &lo, &hi, &may_execute, &major, &minor, &m.ino, &path) != 6 ||
        m.ino == 0 || path <= 0 || line[static_cast<std::size_t>(path)] != '/')
      continue;
    m.dev = device_of(major, minor);
    const auto [place, fresh] = known.try_emplace({m.ino, m.dev}, found.size());
    if (fresh) {
      if (found.size() == limit) break;
      m.path = line.substr(static_cast<std::size_t>(path));
      if (types.empty()) types = types_of_mounts(pid);
      if (const auto type = types.find(m.dev); type != types.end()) m.fs_type = type->second;
      found.push_back(std::move(m));
    }
    auto& code = found[place->second].code;
    if (may_execute == 'x' && code.size() < kMostCode) code.emplace_back(lo, hi);
  }
  return found;
}

}  // namespace whystall::target
