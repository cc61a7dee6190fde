// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "host_work.h"
#include "modes.h"
#include "vias.h"

namespace loop {
namespace {

class Thread : public Work {
 public:
  Thread(const Part& inner, Bells bells, bool awaited)
      : inner_(make_work(inner)), bells_(std::move(bells)), awaited_(awaited) {
    std::promise<pid_t> tid;
    std::future<pid_t> known = tid.get_future();
    std::thread([this, cpu = inner.cpu, &tid] { serve(cpu, tid); }).detach();
    tid_ = known.get();
  }

  void run() override {
    bells_.there->ring();
    if (awaited_) bells_.back->wait();
  }

  void tell(Facts& facts) const override {
    facts.number("thread_tid", tid_);
    inner_->tell(facts);
  }

 private:
  [[noreturn]] void serve(int cpu, std::promise<pid_t>& tid) {
    pthread_setname_np(pthread_self(), awaited_ ? "thread" : "idle-thread");
    pin_to(cpu);
    tid.set_value(gettid());
    while (true) {
      bells_.there->wait();
      inner_->run();
      if (awaited_) bells_.back->ring();
      inner_->prepare();
    }
  }

  const std::unique_ptr<Work> inner_;
  const Bells bells_;
  const bool awaited_;
  pid_t tid_ = 0;
};

}  // namespace

std::unique_ptr<Work> make_thread(const Part& inner, Bells bells, bool awaited) {
  return std::make_unique<Thread>(inner, std::move(bells), awaited);
}

}  // namespace loop
