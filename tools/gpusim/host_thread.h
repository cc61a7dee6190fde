// SPDX-License-Identifier: Apache-2.0
// The driver's one thread in the process, `cuda-EvtHandlr`: it runs host functions.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "shared_device.h"
#include "wait.h"
#include "when.h"

namespace gpusim {

struct HostCall {
  OpRecord record;
  When ready;
  std::function<void()> run;
  std::shared_ptr<Moment> returned;
  SharedDevice* device = nullptr;
};

class HostThread {
 public:
  // `mutex` is the driver's; `resolved` is called with it held after each function.
  HostThread(std::mutex& mutex, std::function<void()> resolved);
  // False: no thread.
  bool start();
  // With the mutex held.
  void add(HostCall call);

 private:
  static void* main(void* self);
  void serve();
  // The call that is due first; the end if none is known to be.
  std::vector<HostCall>::iterator first();

  std::mutex& mutex_;
  std::function<void()> resolved_;
  Timer timer_;
  std::vector<HostCall> calls_;
  bool started_ = false;
};

// True in a host function, which must not call the driver.
bool in_host_function();

}  // namespace gpusim
