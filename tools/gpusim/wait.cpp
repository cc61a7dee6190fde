// SPDX-License-Identifier: Apache-2.0
// How a thread waits for the device. There is no engine thread: spinning and yielding compare
// clocks, and a blocked thread is woken by a timer's interrupt, as a device's interrupt would.
#include <poll.h>
#include <sched.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "driver.h"

namespace gpusim {
namespace {

class Timer {
 public:
  Timer() : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}
  ~Timer() {
    if (fd_ >= 0) close(fd_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // False if there is no timer to wait for.
  bool wait_until(int64_t until_ns) {
    constexpr int64_t kNsPerSecond = 1'000'000'000;
    itimerspec spec = {};
    spec.it_value = {until_ns / kNsPerSecond, until_ns % kNsPerSecond};
    if (fd_ < 0 || timerfd_settime(fd_, TFD_TIMER_ABSTIME, &spec, nullptr) != 0) return false;
    pollfd ready = {fd_, POLLIN, 0};
    poll(&ready, 1, -1);
    return true;
  }

 private:
  int fd_;
};

bool block_until(int64_t until_ns) {
  thread_local Timer timer;
  return timer.wait_until(until_ns);
}

}  // namespace

void wait_for(const Wait& wait) {
  while (now_ns() < wait.until_ns) {
    switch (wait.mode) {
      case SyncMode::kSpin:
        __builtin_ia32_pause();
        break;
      case SyncMode::kYield:
        sched_yield();
        break;
      case SyncMode::kBlocking:
        if (!block_until(wait.until_ns)) sched_yield();
        break;
    }
  }
}

}  // namespace gpusim
