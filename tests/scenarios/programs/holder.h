// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace loop {

// A thread that holds a mutex and sleeps. Each round is arranged by hand-shakes, so that the asker
// is sure to find the lock taken and to wait the whole time:
//
//   arm()      the holder takes the mutex and says so; called while the device works
//   contend()  tells the holder to begin its sleep, then asks for the mutex and gets it when that
//   ends
class Holder {
 public:
  explicit Holder(std::int64_t hold_ns);
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  ~Holder();

  void arm();
  void contend();

  pid_t tid() const { return tid_; }
  const void* address() const { return &mutex_; }

 private:
  void run();

  const std::int64_t hold_ns_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  sem_t take_, taken_, sleep_;
  std::atomic<bool> stopping_{false};
  std::atomic<pid_t> tid_{0};
  std::thread thread_;
};

}  // namespace loop
