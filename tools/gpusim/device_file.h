// SPDX-License-Identifier: Apache-2.0
// The file behind a device: DIR/device.shm, in memory whatever DIR's file system is.
#pragma once

#include <sys/types.h>

#include <string>

namespace gpusim {

// On a disk file system DIR/device.shm is a link into /dev/shm: write-back of a shared mapping
// would make the target wait for the disk in the middle of a launch.
class DeviceFile {
 public:
  DeviceFile() = default;
  ~DeviceFile();
  DeviceFile(const DeviceFile&) = delete;
  DeviceFile& operator=(const DeviceFile&) = delete;

  // An empty file under a name of its own; -1 with `error` set. The caller owns the descriptor.
  int create(const std::string& dir, mode_t mode, std::string* error);
  // Shows the file as DIR/device.shm, complete from the first moment.
  bool publish(std::string* error);

 private:
  void remove_stale() const;

  int dir_fd_ = -1;        // locked: one daemon a directory
  std::string path_;       // the file's own name until it is published
  std::string published_;  // DIR/device.shm
  bool linked_ = false;
  bool visible_ = false;
};

}  // namespace gpusim
