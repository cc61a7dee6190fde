// SPDX-License-Identifier: Apache-2.0
#include "host_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace gpusim {
namespace {

thread_local bool running_host_function = false;

}  // namespace

bool in_host_function() {
  return running_host_function;
}

HostThread::HostThread(std::mutex& mutex, std::function<void()> resolved)
    : mutex_(mutex), resolved_(std::move(resolved)) {}

bool HostThread::start() {
  if (started_) return true;
  // The program's signals are not for this thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, &main, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return false;
  pthread_setname_np(thread, "cuda-EvtHandlr");
  pthread_detach(thread);
  started_ = true;
  return true;
}

void HostThread::add(HostCall call) {
  calls_.push_back(std::move(call));
  // The timer wakes the thread, as the device's interrupt would; not the caller.
  const auto next = first();
  if (next != calls_.end()) timer_.arm(next->ready.ns);
}

std::vector<HostCall>::iterator HostThread::first() {
  auto best = calls_.end();
  for (auto call = calls_.begin(); call != calls_.end(); ++call) {
    if (!call->ready.settle()) continue;
    if (best == calls_.end() || call->ready.ns < best->ready.ns) best = call;
  }
  return best;
}

void* HostThread::main(void* self) {
  static_cast<HostThread*>(self)->serve();
  return nullptr;
}

void HostThread::serve() {
  std::unique_lock guard(mutex_);
  for (;;) {
    const auto next = first();
    if (next == calls_.end() || now_ns() < next->ready.ns) {
      timer_.arm(next == calls_.end() ? kUnknown : next->ready.ns);
      guard.unlock();
      timer_.wait();
      guard.lock();
      continue;
    }
    HostCall call = std::move(*next);
    calls_.erase(next);
    guard.unlock();
    call.record.start_ns = now_ns();
    running_host_function = true;
    call.run();
    running_host_function = false;
    call.record.end_ns = now_ns();
    while (call.device->add(call.record) == SharedDevice::Submit::kFull) usleep(100);
    guard.lock();
    call.returned->ns.store(call.record.end_ns, std::memory_order_release);
    resolved_();
  }
}

}  // namespace gpusim
