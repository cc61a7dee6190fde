// SPDX-License-Identifier: Apache-2.0
#include "device_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace gpusim {
namespace {

constexpr char kSharedMemory[] = "/dev/shm/gpusim-";

bool in_memory(const std::string& dir) {
  struct statfs info = {};
  return statfs(dir.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC;
}

std::string failure(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

}  // namespace

DeviceFile::~DeviceFile() {
  if (visible_) unlink(published_.c_str());
  if (!path_.empty()) unlink(path_.c_str());
  if (dir_fd_ >= 0) close(dir_fd_);
}

// A killed daemon leaves its file, and nobody holds the directory's lock for it any more.
void DeviceFile::remove_stale() const {
  char target[PATH_MAX];
  const ssize_t length = readlink(published_.c_str(), target, sizeof(target) - 1);
  if (length > 0) {
    target[length] = '\0';
    if (std::strncmp(target, kSharedMemory, sizeof(kSharedMemory) - 1) == 0) unlink(target);
  }
  unlink(published_.c_str());
}

int DeviceFile::create(const std::string& dir, mode_t mode, std::string* error) {
  dir_fd_ = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir_fd_ < 0 || flock(dir_fd_, LOCK_EX | LOCK_NB) != 0) {
    *error = errno == EWOULDBLOCK ? dir + ": another gpusimd runs here" : failure(dir);
    return -1;
  }
  published_ = dir + "/device.shm";
  remove_stale();
  linked_ = !in_memory(dir);
  std::string name = linked_ ? std::string(kSharedMemory) + "XXXXXX" : dir + "/.device-XXXXXX";
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0 || fchmod(fd, mode) != 0) {
    *error = failure(name);
    if (fd >= 0) close(fd);
    return -1;
  }
  path_ = name;
  return fd;
}

bool DeviceFile::publish(std::string* error) {
  const int result = linked_ ? symlink(path_.c_str(), published_.c_str())
                             : rename(path_.c_str(), published_.c_str());
  if (result != 0) {
    *error = failure(published_);
    return false;
  }
  visible_ = true;
  if (!linked_) path_.clear();
  return true;
}

}  // namespace gpusim
