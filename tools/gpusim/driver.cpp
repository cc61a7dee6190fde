// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace gpusim {
namespace {

thread_local Context* current_context = nullptr;

uint32_t thread_id() {
  thread_local const auto id = static_cast<uint32_t>(gettid());
  return id;
}

SyncMode primary_mode() {
  const char* mode = std::getenv("GPUSIM_SYNC");
  if (mode && std::strcmp(mode, "yield") == 0) return SyncMode::kYield;
  if (mode && std::strcmp(mode, "blocking") == 0) return SyncMode::kBlocking;
  return SyncMode::kSpin;
}

}  // namespace

int64_t gate_ns(const Stream& stream) {
  const Context& context = *stream.context;
  if (&stream == &context.legacy) return std::max(stream.tail_ns, context.blocking_ns);
  if (stream.blocking) return std::max(stream.tail_ns, context.legacy.tail_ns);
  return stream.tail_ns;
}

void extend(Stream& stream, int64_t end_ns) {
  Context& context = *stream.context;
  stream.tail_ns = std::max(stream.tail_ns, end_ns);
  context.all_ns = std::max(context.all_ns, end_ns);
  if (stream.blocking) context.blocking_ns = std::max(context.blocking_ns, end_ns);
}

Driver& Driver::get() {
  // Never destroyed: threads may still be inside the driver while the process exits.
  static Driver* const driver = new Driver;
  return *driver;
}

CUresult Driver::init() {
  // Before the lock, which another thread of the parent may have held when this process was forked.
  if (forked_) return CUDA_ERROR_NOT_INITIALIZED;
  const std::lock_guard guard(mutex);
  if (ready_.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  const char* dir = std::getenv("GPUSIM_DIR");
  if (!dir || !*dir) return CUDA_ERROR_NO_DEVICE;
  auto device = std::make_unique<SharedDevice>();
  if (!device->open(dir)) return CUDA_ERROR_NO_DEVICE;
  static bool registered = false;
  if (!registered && pthread_atfork(nullptr, nullptr, [] { get().forked_ = true; }) != 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  registered = true;
  device_ = std::move(device);
  pid_ = static_cast<uint32_t>(getpid());
  ready_.store(true, std::memory_order_release);
  return CUDA_SUCCESS;
}

Context* Driver::current() const {
  return known(current_context) ? current_context : nullptr;
}

void Driver::set_current(Context* context) {
  current_context = context;
}

CUresult Driver::create_context(SyncMode mode, Context** context) {
  if (!device_->alive()) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  device_->enter();
  auto owned = std::make_unique<Context>();
  owned->id = ++last_context_;
  owned->sync_mode = mode;
  owned->legacy.context = owned.get();
  *context = owned.get();
  contexts_.emplace(*context, std::move(owned));
  return CUDA_SUCCESS;
}

CUresult Driver::retain_primary(Context** context) {
  if (primary_users_ == 0) {
    const CUresult error = create_context(primary_mode(), &primary_);
    if (error != CUDA_SUCCESS) return error;
  }
  ++primary_users_;
  *context = primary_;
  return CUDA_SUCCESS;
}

CUresult Driver::release_primary(Wait* wait) {
  if (primary_users_ == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary_users_ > 0) return CUDA_SUCCESS;
  Context* context = std::exchange(primary_, nullptr);
  return destroy_context(context, wait);
}

CUresult Driver::destroy_context(Context* context, Wait* wait) {
  if (!known(context) || context == primary_) return CUDA_ERROR_INVALID_CONTEXT;
  *wait = {context->all_ns, context->sync_mode};
  std::erase_if(streams_, [&](const auto& entry) { return entry.second->context == context; });
  contexts_.erase(context);
  if (contexts_.empty()) device_->leave();
  if (current_context == context) current_context = nullptr;
  return CUDA_SUCCESS;
}

CUresult Driver::create_stream(bool blocking, CUstream* handle) {
  Context* context = current();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  auto owned = std::make_unique<Stream>();
  owned->context = context;
  owned->id = ++last_stream_;
  owned->blocking = blocking;
  *handle = reinterpret_cast<CUstream>(owned.get());
  streams_.emplace(*handle, std::move(owned));
  return CUDA_SUCCESS;
}

CUresult Driver::destroy_stream(CUstream handle) {
  return streams_.erase(handle) != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

Stream* Driver::stream(CUstream handle, CUresult* error) const {
  constexpr uintptr_t kLegacy = 1;
  constexpr uintptr_t kPerThread = 2;
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value == 0 || value == kLegacy) {
    Context* context = current();
    if (context) return &context->legacy;
    *error = CUDA_ERROR_INVALID_CONTEXT;
    return nullptr;
  }
  const auto found = streams_.find(handle);
  if (found != streams_.end()) return found->second.get();
  *error = value == kPerThread ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_HANDLE;
  return nullptr;
}

CUevent Driver::create_event(unsigned int flags) {
  auto owned = std::make_unique<Event>();
  owned->flags = flags;
  const auto handle = reinterpret_cast<CUevent>(owned.get());
  events_.emplace(handle, std::move(owned));
  return handle;
}

bool Driver::destroy_event(CUevent handle) {
  return events_.erase(handle) != 0;
}

Event* Driver::event(CUevent handle) const {
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second.get();
}

CUresult Driver::submit(CUstream handle, const Operation& operation, Wait* end) {
  OpRecord record = {};
  record.api_ns = operation.api_ns;
  record.bytes = operation.bytes;
  record.pid = pid_;
  record.tid = thread_id();
  record.kind = operation.kind;
  std::snprintf(record.name, sizeof(record.name), "%s", operation.name);
  // The handle is looked up again after each wait: another thread may have destroyed the stream.
  for (;;) {
    std::unique_lock guard(mutex);
    if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
    CUresult error = CUDA_SUCCESS;
    Stream* target = stream(handle, &error);
    if (!target) return error;
    const int64_t room_ns = target->room_ns();
    if (room_ns > operation.api_ns && room_ns > now_ns()) {
      guard.unlock();
      wait_for({room_ns, SyncMode::kSpin});
      continue;
    }
    record.context = target->context->id;
    record.stream = target->id;
    const int64_t accepted = operation.api_ns + device().launch_latency_ns;
    const int64_t ready = std::max(accepted, gate_ns(*target));
    switch (device_->submit(record, ready, operation.kernel_ns)) {
      case SharedDevice::Submit::kOk:
        break;
      case SharedDevice::Submit::kFull:
        guard.unlock();
        sched_yield();
        continue;
      case SharedDevice::Submit::kGone:
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    target->ends_ns[target->next] = record.end_ns;
    target->next = (target->next + 1) % kStreamDepth;
    extend(*target, record.end_ns);
    if (end) *end = {record.end_ns, target->context->sync_mode};
    return CUDA_SUCCESS;
  }
}

}  // namespace gpusim
