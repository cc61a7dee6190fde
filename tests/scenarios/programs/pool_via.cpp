// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "modes.h"
#include "vias.h"

namespace loop {
namespace {

constexpr std::size_t kThreads = 2;
constexpr std::size_t kFilesApart = 4;  // or one would wait for the other's read

class Pool : public Work {
 public:
  explicit Pool(const Part& inner) {
    for (std::size_t i = 0; i < kThreads; ++i) {
      Part part = inner;
      part.first_file = i * kFilesApart;
      works_.push_back(make_work(part));
    }
    tids_.resize(kThreads);
    for (std::size_t i = 0; i < kThreads; ++i) std::thread([this, i] { serve(i); }).detach();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return begun_ == kThreads; });
  }

  void run() override {
    std::unique_lock lock(mutex_);
    bool mine_done = false;
    for (std::size_t i = 0; i < kThreads; ++i) {
      tasks_.push_back([this](std::size_t thread) {
        works_[thread]->run();
        works_[thread]->prepare();
      });
    }
    tasks_.push_back([this, &mine_done](std::size_t) {
      const std::lock_guard guard(mutex_);
      mine_done = true;
      done_.notify_one();
    });
    queued_.notify_all();
    done_.wait(lock, [&] { return mine_done; });
  }

  // Nobody's task may still run when the next step queues its own.
  void prepare() override {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

  void tell(Facts& facts) const override {
    for (std::size_t i = 0; i < kThreads; ++i) {
      facts.number("pool_tid" + std::to_string(i), tids_[i]);
    }
  }

 private:
  [[noreturn]] void serve(std::size_t i) {
    pthread_setname_np(pthread_self(), "pool");
    std::unique_lock lock(mutex_);
    tids_[i] = gettid();
    ++begun_;
    done_.notify_one();
    while (true) {
      queued_.wait(lock, [this] { return !tasks_.empty(); });
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      ++busy_;
      lock.unlock();
      task(i);
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::vector<std::unique_ptr<Work>> works_;
  std::vector<pid_t> tids_;
  std::mutex mutex_;
  std::condition_variable queued_, done_;
  std::deque<std::function<void(std::size_t)>> tasks_;
  std::size_t begun_ = 0, busy_ = 0;
};

}  // namespace

std::unique_ptr<Work> make_pool(const Part& inner) {
  return std::make_unique<Pool>(inner);
}

}  // namespace loop
