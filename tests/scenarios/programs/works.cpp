// SPDX-License-Identifier: Apache-2.0
#include "works.h"

#include <algorithm>

#include "host_work.h"

namespace loop {
namespace {

class None : public Work {
 public:
  void run() override {}
};

class Cpu : public Work {
 public:
  explicit Cpu(std::int64_t ns) : ns_(ns) {}
  void run() override {
    if (ns_ > 0) compute_for(ns_);
  }

 private:
  const std::int64_t ns_;
};

class Sleep : public Work {
 public:
  explicit Sleep(std::int64_t ns) : ns_(ns) {}
  void run() override {
    if (ns_ > 0) sleep_for(ns_);
  }

 private:
  const std::int64_t ns_;
};

class Backoff : public Work {
 public:
  explicit Backoff(std::int64_t ns) : ns_(ns) {}
  void run() override {
    const std::int64_t end = now_ns() + ns_;
    for (std::int64_t pause = kShortest; now_ns() < end; pause = std::min(2 * pause, kLongest)) {
      sleep_for(std::min(pause, end - now_ns()));
    }
  }

 private:
  static constexpr std::int64_t kShortest = 1'000'000, kLongest = 8'000'000;
  const std::int64_t ns_;
};

class Bursts : public Work {
 public:
  explicit Bursts(std::int64_t ns) : ns_(ns) {}
  void run() override {
    while (true) {
      compute_for(ns_);
      sleep_for(ns_ * 3 / 2);
    }
  }

 private:
  const std::int64_t ns_;
};

}  // namespace

std::unique_ptr<Work> make_none(const Part&) {
  return std::make_unique<None>();
}
std::unique_ptr<Work> make_cpu(const Part& part) {
  return std::make_unique<Cpu>(part.host_ns);
}
std::unique_ptr<Work> make_sleep(const Part& part) {
  return std::make_unique<Sleep>(part.host_ns);
}
std::unique_ptr<Work> make_backoff(const Part& part) {
  return std::make_unique<Backoff>(part.host_ns);
}
std::unique_ptr<Work> make_bursts(const Part& part) {
  return std::make_unique<Bursts>(part.host_ns);
}

}  // namespace loop
