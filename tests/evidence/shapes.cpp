// SPDX-License-Identifier: Apache-2.0
//
// shapes --shape NAME [--seconds N] [--wait spin|yield|blocking] [--queries]: a training loop of
// one of the shapes that decide what the driver's calls can prove. A step gives the device some 20
// ms of kernels and copies; the host prepares the next batch for some 30 ms by computing, sleeping
// and reading.
//
//   sync-last              waits for the device at the step's end, then prepares
//   sync-last-context      the same by a wait for the whole context
//   sync-before-optimizer  waits in the middle of the step, launches more, then prepares
//   sync-every-10          waits in each tenth step
//   sync-never             never waits, but for room in the stream's queue; rests now and then
//   event-copy-stream      copies batches on a second stream, for which the first waits by an
//   event;
//                          the host waits for that event before it fills the pinned buffer again
//   prefetch-unsynced      waits for the compute stream, beside prefetches that nobody waits for
//
// With --queries it never waits: where it would have, it records an event, and the allocator of the
// host part asks for the oldest one at each of its allocations, as caching allocators do.
//
// Prints "ready" when it runs steadily; ends after N seconds, on SIGTERM or with its input.
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <vector>

#include "device.h"

namespace {

using evidence::clock_ns;
using evidence::Device;
using evidence::die;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::size_t kBatch = 2u << 20, kResult = 64u << 10, kPrefetch = 8u << 20;

volatile sig_atomic_t stopped = 0;

struct Options {
  std::string shape;
  std::int64_t seconds = 3600;
  unsigned flags = CU_CTX_SCHED_SPIN;
  bool queries = false;
};

Options parse(int argc, char** argv) {
  static const option kOptions[] = {{"shape", required_argument, nullptr, 's'},
                                    {"seconds", required_argument, nullptr, 'n'},
                                    {"wait", required_argument, nullptr, 'w'},
                                    {"queries", no_argument, nullptr, 'q'},
                                    {nullptr, 0, nullptr, 0}};
  Options options;
  for (int c; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    const std::string value = optarg ? optarg : "";
    if (c == 's') options.shape = value;
    if (c == 'n') options.seconds = std::atoll(optarg);
    if (c == 'q') options.queries = true;
    if (c == 'w' && value == "yield") options.flags = CU_CTX_SCHED_YIELD;
    if (c == 'w' && value == "blocking") options.flags = CU_CTX_SCHED_BLOCKING_SYNC;
    if (c == '?') std::exit(2);
  }
  return options;
}

class Loop {
 public:
  explicit Loop(const Options& options) : queries_(options.queries), device_(options.flags) {
    file_ = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file_ < 0) die("cannot read this program's own file");
  }

  void step(const std::string& shape) {
    if (shape == "sync-last" || shape == "sync-last-context") {
      submit_step(20 * kMs);
      shape == "sync-last" || queries_ ? wait_for(compute_) : wait_for_context();
      prepare(30 * kMs);
    } else if (shape == "sync-before-optimizer") {
      submit_step(15 * kMs);
      wait_for(compute_);
      for (int i = 0; i < 5; i++) device_.launch(compute_, kMs);
      prepare(30 * kMs);
    } else if (shape == "sync-every-10") {
      submit_step(20 * kMs);
      if (steps_ % 10 == 9) wait_for(compute_);
      prepare(30 * kMs);
    } else if (shape == "sync-never") {
      for (int i = 0; i < 64; i++) device_.launch(compute_, 20 * kMs / 64);
      prepare(steps_ % 40 == 39 ? 500 * kMs : kMs);
    } else if (shape == "event-copy-stream") {
      copy_stream_step();
    } else if (shape == "prefetch-unsynced") {
      submit_step(20 * kMs);
      wait_for(compute_);
      device_.check(device_.cuMemcpyHtoDAsync_v2(prefetched_, pinned_, kPrefetch, copies_));
      prepare(30 * kMs);
    } else {
      die("no shape '%s'", shape.c_str());
    }
    steps_++;
  }

 private:
  struct Slot {
    CUevent copied = nullptr, used = nullptr;
    char* pinned = nullptr;
    CUdeviceptr batch = 0;
  };

  void submit_step(std::int64_t ns) {
    device_.check(device_.cuMemcpyHtoDAsync_v2(batch_, pinned_, kBatch, compute_));
    for (int i = 0; i < 4; i++) device_.launch(compute_, ns / 4);
    device_.check(device_.cuMemcpyDtoHAsync_v2(pinned_, batch_, kResult, compute_));
  }

  void wait_for(CUstream stream) {
    if (!queries_) return device_.check(device_.cuStreamSynchronize(stream));
    CUevent event = nullptr;
    if (free_.empty()) {
      event = device_.event();
    } else {
      event = free_.back();
      free_.pop_back();
    }
    device_.check(device_.cuEventRecord(event, stream));
    asked_.push_back(event);
  }

  void wait_for_context() { device_.check(device_.cuCtxSynchronize()); }

  // What is filled for a later step must not be what a copy still reads.
  void copy_stream_step() {
    Slot& slot = slots_[steps_ % 2];
    if (!slot.copied) {
      slot = {device_.event(), device_.event(), device_.pinned(kBatch), device_.memory(kBatch)};
    } else if (!queries_) {
      device_.check(device_.cuEventSynchronize(slot.copied));
    } else {
      while (ask(slot.copied) == CUDA_ERROR_NOT_READY) prepare(kMs);
    }
    prepare(30 * kMs);
    if (steps_ >= 2) device_.check(device_.cuStreamWaitEvent(copies_, slot.used, 0));
    device_.check(device_.cuMemcpyHtoDAsync_v2(slot.batch, slot.pinned, kBatch, copies_));
    device_.check(device_.cuEventRecord(slot.copied, copies_));
    device_.check(device_.cuStreamWaitEvent(compute_, slot.copied, 0));
    for (int i = 0; i < 4; i++) device_.launch(compute_, 5 * kMs);
    device_.check(device_.cuEventRecord(slot.used, compute_));
  }

  CUresult ask(CUevent event) {
    const CUresult result = device_.cuEventQuery(event);
    if (result != CUDA_ERROR_NOT_READY) device_.check(result);
    return result;
  }

  // Memory that work of another stream used is free once its event is done; the list is in order.
  void allocate() {
    while (!asked_.empty() && ask(asked_.front()) == CUDA_SUCCESS) {
      free_.push_back(asked_.front());
      asked_.pop_front();
    }
  }

  // In turns a third each, an allocation before each part.
  void prepare(std::int64_t ns) {
    const std::int64_t begin = clock_ns(CLOCK_MONOTONIC);
    for (std::int64_t done = 0; (done = clock_ns(CLOCK_MONOTONIC) - begin) < ns;) {
      allocate();
      const std::int64_t until = begin + std::min(ns, done + kMs);
      switch (done * 3 / ns) {
        case 0:
          while (clock_ns(CLOCK_MONOTONIC) < until) {
          }
          break;
        case 1: {
          const timespec t{until / 1'000'000'000, until % 1'000'000'000};
          clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
          break;
        }
        default:
          while (clock_ns(CLOCK_MONOTONIC) < until) {
            if (pread(file_, read_.data(), read_.size(), 0) <= 0) die("cannot read");
          }
      }
    }
  }

  const bool queries_;
  const Device device_;
  const CUstream compute_ = device_.stream(), copies_ = device_.stream();
  const CUdeviceptr batch_ = device_.memory(kBatch), prefetched_ = device_.memory(kPrefetch);
  char* const pinned_ = device_.pinned(kPrefetch);
  Slot slots_[2];
  std::deque<CUevent> asked_;
  std::vector<CUevent> free_;
  std::vector<char> read_ = std::vector<char>(256u << 10);
  int file_ = -1;
  std::uint64_t steps_ = 0;
};

bool input_ended() {
  pollfd input{STDIN_FILENO, 0, 0};
  return poll(&input, 1, 0) > 0 && (input.revents & POLLHUP) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  struct sigaction action{};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGTERM, &action, nullptr);
  Loop loop(options);
  const std::int64_t end = clock_ns(CLOCK_MONOTONIC) + options.seconds * 1'000'000'000;
  for (int step = 0; !stopped && clock_ns(CLOCK_MONOTONIC) < end && !input_ended(); step++) {
    loop.step(options.shape);
    if (step == 3) std::puts("ready"), std::fflush(stdout);
  }
  return 0;
}
