// SPDX-License-Identifier: Apache-2.0
// The schedule of the simulated device: newline-delimited JSON, a header and one line an operation.
#pragma once

#include <cstdint>
#include <string>

#include "shared_device.h"

namespace gpusim {

class ScheduleWriter {
 public:
  ScheduleWriter() = default;
  ~ScheduleWriter();
  ScheduleWriter(const ScheduleWriter&) = delete;
  ScheduleWriter& operator=(const ScheduleWriter&) = delete;

  bool open(const std::string& path, const DeviceConfig& config, int64_t start_ns);
  void add(uint64_t number, const OpRecord& op);
  // False, with errno set, if the file cannot take what was added.
  bool flush();

 private:
  int fd_ = -1;
  std::string pending_;
};

}  // namespace gpusim
