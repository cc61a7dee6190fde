// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "facts.h"

namespace loop {

// One kind of host work. What has workers makes the processes among them in its constructor, which
// runs before the program has threads or a device.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  // The step's work: the device is idle meanwhile.
  virtual void run() = 0;

  // What has to be done before the next run, by whoever did the last, when nobody waits for it.
  virtual void prepare() {}

  virtual void tell(Facts&) const {}
};

}  // namespace loop
