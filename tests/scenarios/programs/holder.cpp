// SPDX-License-Identifier: Apache-2.0
#include "holder.h"

#include <cerrno>

#include "host_work.h"

namespace loop {
namespace {

void wait(sem_t& semaphore) {
  while (sem_wait(&semaphore) != 0 && errno == EINTR) {
  }
}

}  // namespace

Holder::Holder(std::int64_t hold_ns) : hold_ns_(hold_ns) {
  for (sem_t* s : {&take_, &taken_, &sleep_}) sem_init(s, 0, 0);
  thread_ = std::thread([this] { run(); });
  arm();
}

Holder::~Holder() {
  stopping_ = true;
  sem_post(&sleep_);
  sem_post(&take_);
  thread_.join();
  for (sem_t* s : {&take_, &taken_, &sleep_}) sem_destroy(s);
}

void Holder::arm() {
  sem_post(&take_);
  wait(taken_);
}

void Holder::contend() {
  sem_post(&sleep_);
  pthread_mutex_lock(&mutex_);
  pthread_mutex_unlock(&mutex_);
}

void Holder::run() {
  pthread_setname_np(pthread_self(), "holder");
  tid_ = gettid();
  while (true) {
    wait(take_);
    if (stopping_) return;
    pthread_mutex_lock(&mutex_);
    sem_post(&taken_);
    wait(sleep_);
    if (!stopping_ && hold_ns_ > 0) sleep_for(hold_ns_);
    pthread_mutex_unlock(&mutex_);
  }
}

}  // namespace loop
