// SPDX-License-Identifier: Apache-2.0
//
// hog [--cpu N] [--busy 20ms] [--idle 30ms] [--clock cpu|wall] [--seconds S] [--log FILE]
//
// Takes a CPU in bursts. A burst lasts --busy of the thread's own CPU time (or of wall time with
// --clock wall), then it sleeps --idle; without --idle it never rests. Prints "ready PID", ends on
// SIGTERM or after S seconds, and logs each burst as
// {"op":"busy","pid":..,"start_ns":..,"end_ns":..,"cpu_ns":..}.
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "duration.h"
#include "event_log.h"

namespace {

using faults::clock_ns;
using faults::now_ns;

volatile sig_atomic_t stopped = 0;

struct Options {
  int cpu = -1;
  std::int64_t busy_ns = 20'000'000;
  std::int64_t idle_ns = 0;
  std::int64_t run_ns = 0;  // 0: until told
  clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  faults::EventLog log;
};

[[noreturn]] void usage(const std::string& problem) {
  std::fprintf(stderr,
               "hog: %s\nusage: hog [--cpu N] [--busy 20ms] [--idle 30ms] [--clock cpu|wall] "
               "[--seconds S] [--log FILE]\n",
               problem.c_str());
  std::exit(1);
}

std::int64_t duration_of(const std::string& text) {
  const auto ns = faults::parse_duration(text);
  if (!ns) usage("'" + text + "' is no duration (20ms, 1s)");
  return *ns;
}

void parse_arguments(int argc, char** argv, Options& options) {
  enum { kCpu = 1, kBusy, kIdle, kClock, kSeconds, kLog };
  static const option kOptions[] = {{"cpu", required_argument, nullptr, kCpu},
                                    {"busy", required_argument, nullptr, kBusy},
                                    {"idle", required_argument, nullptr, kIdle},
                                    {"clock", required_argument, nullptr, kClock},
                                    {"seconds", required_argument, nullptr, kSeconds},
                                    {"log", required_argument, nullptr, kLog},
                                    {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    const std::string value = optarg != nullptr ? optarg : "";
    if (c == kCpu) {
      char* end = nullptr;
      const long cpu = std::strtol(value.c_str(), &end, 10);
      if (end == value.c_str() || *end != '\0' || cpu < 0 || cpu >= CPU_SETSIZE) {
        usage("'" + value + "' is no CPU number");
      }
      options.cpu = static_cast<int>(cpu);
    } else if (c == kBusy) {
      options.busy_ns = duration_of(value);
    } else if (c == kIdle) {
      options.idle_ns = duration_of(value);
    } else if (c == kClock) {
      if (value != "cpu" && value != "wall") usage("--clock is cpu or wall");
      options.clock = value == "cpu" ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    } else if (c == kSeconds) {
      options.run_ns = duration_of(value + "s");
    } else if (c == kLog) {
      if (!options.log.open(value)) usage(value + ": " + std::strerror(errno));
    } else {
      usage("unknown option");
    }
  }
  if (optind != argc) usage("takes no arguments");
}

// Some microseconds of arithmetic between two looks at the clock, so that a burst is computing and
// not a stream of system calls.
void compute() {
  static volatile unsigned sink = 1;
  for (int i = 0; i < 2000; ++i) sink = sink * 1664525U + 1013904223U;
}

void burst(const Options& options) {
  const std::int64_t begin = now_ns();
  const std::int64_t cpu_begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  const std::int64_t until = clock_ns(options.clock) + options.busy_ns;
  while (stopped == 0 && clock_ns(options.clock) < until) compute();
  const std::int64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin;
  options.log.write("{\"op\":\"busy\",\"pid\":" + std::to_string(getpid()) + ",\"start_ns\":" +
                    std::to_string(begin) + ",\"end_ns\":" + std::to_string(now_ns()) +
                    ",\"cpu_ns\":" + std::to_string(cpu_ns) + "}");
}

// Unlike the injected delays this one must end early when told to.
void rest(std::int64_t ns) {
  const timespec t{ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&t, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  parse_arguments(argc, argv, options);
  if (options.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(options.cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
      usage("CPU " + std::to_string(options.cpu) + ": " + std::strerror(errno));
    }
  }
  struct sigaction action{};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  prctl(PR_SET_TIMERSLACK, 1UL);

  std::printf("ready %d\n", getpid());
  std::fflush(stdout);
  const std::int64_t end = options.run_ns > 0 ? now_ns() + options.run_ns : INT64_MAX;
  while (stopped == 0 && now_ns() < end) {
    burst(options);
    if (options.idle_ns > 0 && stopped == 0) rest(options.idle_ns);
  }
  return 0;
}
