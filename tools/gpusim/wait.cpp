// SPDX-License-Identifier: Apache-2.0
// There is no engine thread: spinning and yielding compare clocks, and a blocked thread is woken by
// a timer's interrupt.
#include "wait.h"

#include <poll.h>
#include <sched.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "shared_device.h"

namespace gpusim {
namespace {

// Threads blocked on a moment that is not known. Never destroyed: see Driver::get().
struct Blocked {
  std::mutex mutex;
  std::vector<const Timer*> timers;
};

Blocked& blocked() {
  static Blocked* const blocked = new Blocked;
  return *blocked;
}

const Timer& thread_timer() {
  thread_local const Timer timer;
  return timer;
}

void block_until_known(When& until) {
  const Timer& timer = thread_timer();
  Blocked& all = blocked();
  if (!timer.arm(kUnknown)) {
    sched_yield();
    return;
  }
  {
    const std::lock_guard guard(all.mutex);
    all.timers.push_back(&timer);
  }
  // Whoever makes it known wakes the listed ones after that: none is missed.
  if (!until.settle()) timer.wait();
  const std::lock_guard guard(all.mutex);
  std::erase(all.timers, &timer);
}

}  // namespace

Timer::Timer() : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

Timer::~Timer() {
  if (fd_ >= 0) close(fd_);
}

bool Timer::arm(int64_t at_ns) const {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  itimerspec spec = {};
  if (at_ns != kUnknown)
    spec.it_value = {at_ns / kNsPerSecond, std::max<long>(at_ns % kNsPerSecond, 1)};
  return fd_ >= 0 && timerfd_settime(fd_, TFD_TIMER_ABSTIME, &spec, nullptr) == 0;
}

void Timer::wait() const {
  pollfd ready = {fd_, POLLIN, 0};
  poll(&ready, 1, -1);
}

void wake_blocked() {
  // Far enough ahead for the wake to be the interrupt's and not this thread's.
  constexpr int64_t kInterruptNs = 20'000;
  Blocked& all = blocked();
  const std::lock_guard guard(all.mutex);
  for (const Timer* timer : all.timers) timer->arm(now_ns() + kInterruptNs);
}

void burn_until(int64_t until_ns) {
  while (now_ns() < until_ns) __builtin_ia32_pause();
}

void wait_for(Wait wait) {
  for (;;) {
    const bool known = wait.until.settle();
    if (known && now_ns() >= wait.until.ns) return;
    switch (wait.mode) {
      case SyncMode::kSpin:
        __builtin_ia32_pause();
        break;
      case SyncMode::kYield:
        sched_yield();
        break;
      case SyncMode::kBlocking:
        if (!known) {
          block_until_known(wait.until);
        } else if (thread_timer().arm(wait.until.ns)) {
          thread_timer().wait();
        } else {
          sched_yield();
        }
        break;
    }
  }
}

}  // namespace gpusim
