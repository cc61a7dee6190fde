// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "host_work.h"
#include "modes.h"
#include "vias.h"

namespace loop {
namespace {

constexpr int kAhead = 2;  // items that are ready before it waits

class Loader : public Work {
 public:
  explicit Loader(const Part& inner) : inner_(make_work(inner)) {
    std::thread([this, cpu = inner.cpu] { serve(cpu); }).detach();
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return tid_ != 0; });
  }

  // Takes the next item.
  void run() override {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [this] { return items_ > 0; });
    --items_;
    taken_.notify_one();
  }

  void tell(Facts& facts) const override { facts.number("loader_tid", tid_); }

 private:
  [[noreturn]] void serve(int cpu) {
    pthread_setname_np(pthread_self(), "loader");
    pin_to(cpu);
    std::unique_lock lock(mutex_);
    tid_ = gettid();
    ready_.notify_one();
    while (true) {
      taken_.wait(lock, [this] { return items_ < kAhead; });
      lock.unlock();
      inner_->run();
      lock.lock();
      ++items_;
      ready_.notify_one();
      lock.unlock();
      inner_->prepare();
      lock.lock();
    }
  }

  const std::unique_ptr<Work> inner_;
  std::mutex mutex_;
  std::condition_variable ready_, taken_;
  pid_t tid_ = 0;
  int items_ = 0;
};

}  // namespace

std::unique_ptr<Work> make_loader(const Part& inner) {
  return std::make_unique<Loader>(inner);
}

}  // namespace loop
