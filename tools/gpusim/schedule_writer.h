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
  // Takes the records in the order of the ring.
  void add(const OpRecord& op);
  // False, with errno set, if the file cannot take what was added.
  bool flush();

 private:
  void add_slices(const OpRecord& op);

  int fd_ = -1;
  uint64_t next_ = 0;  // the next operation's number
  uint32_t slice_records_ = 0;
  std::string pending_;
};

}  // namespace gpusim
