// SPDX-License-Identifier: Apache-2.0
//
// launches --rate N [--query]: launches kernels of 1 us at N a second on one stream, paced by the
// clock, and waits for the stream after each thousand; with --query it asks after each launch
// whether the stream is done. On a line "measure SECONDS" of its input it says what
// it did meanwhile: {"seconds":S,"launches":N,"rate":R,"cpu_ns_per_launch":C}, where C is the
// thread's CPU time within the call, of each eighth launch. Ends on SIGTERM or with its input.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "device.h"

namespace {

using evidence::clock_ns;
using evidence::Device;
using evidence::die;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kSyncEvery = 1000, kMeasureEvery = 8, kLookEvery = 64;

volatile sig_atomic_t stopped = 0;

// A measurement that goes on.
struct Measurement {
  std::int64_t begin = 0, end = 0;  // 0: none
  std::uint64_t launches = 0, measured = 0;
  std::int64_t cpu_ns = 0;

  void report(std::int64_t now) const {
    const double seconds = static_cast<double>(now - begin) / 1e9;
    std::printf("{\"seconds\":%.3f,\"launches\":%lu,\"rate\":%.0f,\"cpu_ns_per_launch\":%.1f}\n",
                seconds, launches, static_cast<double>(launches) / seconds,
                static_cast<double>(cpu_ns) / static_cast<double>(measured));
    std::fflush(stdout);
  }
};

// A line of the input, if one is there. Its end ends the program.
bool take_line(std::string* line) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, 0) <= 0) return false;
  char text[64];
  const ssize_t n = read(STDIN_FILENO, text, sizeof text);
  if (n <= 0) stopped = 1;
  line->assign(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  return n > 0;
}

// What reading the clock itself adds to a difference of two.
std::int64_t reading_ns() {
  constexpr int kReadings = 10'000;
  const std::int64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < kReadings; i++) clock_ns(CLOCK_THREAD_CPUTIME_ID);
  return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / kReadings;
}

void run(const Device& device, std::int64_t rate, bool query) {
  const CUstream stream = device.stream();
  const std::int64_t reading = reading_ns();
  Measurement now_measured;
  std::int64_t next = clock_ns(CLOCK_MONOTONIC);
  for (std::uint64_t i = 1; !stopped; i++) {
    while (clock_ns(CLOCK_MONOTONIC) < next) {
    }
    if (i % kMeasureEvery == 0) {
      const std::int64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
      device.launch(stream, 1000);
      now_measured.cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin - reading;
      now_measured.measured++;
    } else {
      device.launch(stream, 1000);
    }
    now_measured.launches++;
    if (query && device.cuStreamQuery(stream) == CUDA_ERROR_INVALID_VALUE) die("no such stream");
    next += kSecond / rate;
    if (i % kSyncEvery == 0) device.check(device.cuStreamSynchronize(stream));
    if (i % kLookEvery != 0) continue;
    const std::int64_t now = clock_ns(CLOCK_MONOTONIC);
    // What was missed while another had the CPU is not made up for: that would be another rate.
    if (next < now) next = now;
    if (now_measured.end != 0 && now >= now_measured.end) {
      now_measured.report(now);
      now_measured = {};
    }
    std::string line;
    if (now_measured.end == 0 && take_line(&line)) {
      double seconds = 0;
      if (std::sscanf(line.c_str(), "measure %lf", &seconds) != 1)
        die("what is '%s'?", line.c_str());
      now_measured = {now, now + static_cast<std::int64_t>(seconds * 1e9), 0, 0, 0};
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool query = argc == 4 && std::string(argv[3]) == "--query";
  if ((argc != 3 && !query) || std::string(argv[1]) != "--rate" || std::atoll(argv[2]) <= 0)
    die("usage: launches --rate N [--query]");
  struct sigaction action{};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  const Device device;
  std::puts("ready");
  std::fflush(stdout);
  run(device, std::atoll(argv[2]), query);
  return 0;
}
