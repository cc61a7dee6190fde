// SPDX-License-Identifier: Apache-2.0
#include "host_work.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "die.h"

namespace loop {
namespace {

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

std::int64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

void pin_to(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) die("CPU %d: %s", cpu, std::strerror(errno));
}

void lock_memory() {
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) mlockall(MCL_CURRENT);
}

void compute_for(std::int64_t cpu_ns) {
  static volatile unsigned sink = 1;
  const std::int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  // Some 10 us of arithmetic between two looks at the clock, which is a system call.
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
    for (int i = 0; i < 5000; ++i) sink = sink * 1664525U + 1013904223U;
  }
}

void sleep_for(std::int64_t ns) {
  const std::int64_t end = clock_ns(CLOCK_MONOTONIC) + ns;
  const timespec t{end / 1'000'000'000, end % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {
  }
}

}  // namespace loop
