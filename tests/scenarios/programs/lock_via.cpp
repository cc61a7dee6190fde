// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "bell.h"
#include "host_work.h"
#include "modes.h"
#include "vias.h"

namespace loop {
namespace {

// Each round is arranged by hand-shakes, so that the asker is sure to find the lock taken and to
// wait the whole time:
//
//   prepare()  the holder takes the mutex and says so; called while the device works
//   run()      tells the holder to begin its work, then asks for the mutex and gets it when that
//              ends
class Lock : public Work {
 public:
  Lock(const Part& inner, bool waiters) : inner_(make_work(inner)) {
    std::thread([this, cpu = inner.cpu] { hold(cpu); }).detach();
    if (waiters) {
      ask_too_ = make_bell(Means::kSemaphore);
      std::thread([this] { wait_too(); }).detach();
      begun_->wait();
    }
    prepare();
  }

  void run() override {
    work_->ring();
    if (ask_too_) ask_too_->ring();
    pthread_mutex_lock(&mutex_);
    pthread_mutex_unlock(&mutex_);
  }

  void prepare() override {
    take_->ring();
    taken_->wait();
  }

  void tell(Facts& facts) const override {
    facts.number("holder_tid", holder_tid_);
    facts.address("lock_address", &mutex_);
    if (ask_too_) facts.number("also_waits_tid", also_waits_tid_);
    inner_->tell(facts);
  }

 private:
  [[noreturn]] void hold(int cpu) {
    pthread_setname_np(pthread_self(), "holder");
    pin_to(cpu);
    holder_tid_ = gettid();
    while (true) {
      take_->wait();
      pthread_mutex_lock(&mutex_);
      taken_->ring();
      work_->wait();
      inner_->run();
      pthread_mutex_unlock(&mutex_);
      inner_->prepare();
    }
  }

  [[noreturn]] void wait_too() {
    pthread_setname_np(pthread_self(), "also-waits");
    also_waits_tid_ = gettid();
    begun_->ring();
    while (true) {
      ask_too_->wait();
      pthread_mutex_lock(&mutex_);
      pthread_mutex_unlock(&mutex_);
    }
  }

  const std::unique_ptr<Work> inner_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  const std::unique_ptr<Bell> take_ = make_bell(Means::kSemaphore),
                              taken_ = make_bell(Means::kSemaphore),
                              work_ = make_bell(Means::kSemaphore);
  const std::unique_ptr<Bell> begun_ = make_bell(Means::kSemaphore);
  std::unique_ptr<Bell> ask_too_;
  pid_t holder_tid_ = 0, also_waits_tid_ = 0;  // written before the thread answers, read after
};

}  // namespace

std::unique_ptr<Work> make_lock(const Part& inner, bool waiters) {
  return std::make_unique<Lock>(inner, waiters);
}

}  // namespace loop
