// SPDX-License-Identifier: Apache-2.0
// The driver's contexts.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "driver.h"

namespace gpusim {
namespace {

thread_local std::vector<Context*> context_stack;

unsigned int primary_flags(const Device& device) {
  if ((device.primary_flags & CU_CTX_SCHED_MASK) != 0) return device.primary_flags;
  const char* mode = std::getenv("GPUSIM_SYNC");
  if (mode && std::strcmp(mode, "yield") == 0) return device.primary_flags | CU_CTX_SCHED_YIELD;
  if (mode && std::strcmp(mode, "blocking") == 0) {
    return device.primary_flags | CU_CTX_SCHED_BLOCKING_SYNC;
  }
  return device.primary_flags;
}

SyncMode mode_of(unsigned int flags) {
  switch (flags & CU_CTX_SCHED_MASK) {
    case CU_CTX_SCHED_YIELD:
      return SyncMode::kYield;
    case CU_CTX_SCHED_BLOCKING_SYNC:
      return SyncMode::kBlocking;
    default:
      return SyncMode::kSpin;
  }
}

}  // namespace

Context* Driver::current() const {
  if (context_stack.empty() || !known(context_stack.back())) return nullptr;
  return context_stack.back();
}

Context* Driver::find_context(uint32_t id) const {
  for (const auto& [key, context] : contexts_) {
    if (context->id == id) return context.get();
  }
  return nullptr;
}

void Driver::set_current(Context* context) {
  if (!context_stack.empty()) context_stack.pop_back();
  if (context) context_stack.push_back(context);
}

void Driver::push_current(Context* context) {
  context_stack.push_back(context);
}

bool Driver::pop_current(Context** context) {
  *context = current();
  if (!*context) return false;
  context_stack.pop_back();
  return true;
}

CUresult Driver::create_context(unsigned int flags, CUdevice ordinal, Context** context) {
  Device& on = device(ordinal);
  if (!on.shared->alive()) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  if (!host_thread_.start()) return CUDA_ERROR_OUT_OF_MEMORY;
  // A table that is full costs only the monitor's view of this process.
  on.shared->enter();
  ++on.contexts;
  auto owned = std::make_shared<Context>();
  owned->id = ++last_context_;
  owned->device = static_cast<uint32_t>(ordinal);
  owned->flags = flags;
  owned->sync_mode = mode_of(flags);
  owned->legacy = std::make_unique<Stream>();
  owned->legacy->context = owned.get();
  *context = owned.get();
  contexts_.emplace(*context, std::move(owned));
  return CUDA_SUCCESS;
}

CUresult Driver::retain_primary(CUdevice ordinal, Context** context) {
  Device& on = device(ordinal);
  if (on.primary_users == 0) {
    const CUresult error = create_context(primary_flags(on), ordinal, &on.primary);
    if (error != CUDA_SUCCESS) return error;
  }
  ++on.primary_users;
  *context = on.primary;
  return CUDA_SUCCESS;
}

CUresult Driver::set_primary_flags(CUdevice ordinal, unsigned int flags) {
  Device& on = device(ordinal);
  on.primary_flags = flags;
  if (on.primary) {
    on.primary->flags = flags;
    on.primary->sync_mode = mode_of(flags);
  }
  return CUDA_SUCCESS;
}

CUresult Driver::release_primary(CUdevice ordinal, Ending* ending) {
  Device& on = device(ordinal);
  if (on.primary_users == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--on.primary_users > 0) return CUDA_SUCCESS;
  Context* context = std::exchange(on.primary, nullptr);
  return destroy_context(context, ending);
}

CUresult Driver::destroy_context(Context* context, Ending* ending) {
  if (!known(context) || context == device(*context).primary) return CUDA_ERROR_INVALID_CONTEXT;
  *ending = {{end_of(*context), context->sync_mode}, context->id, context->device};
  std::erase_if(streams_, [&](const auto& entry) { return entry.second->context == context; });
  Device& on = device(*context);
  if (!context_stack.empty() && context_stack.back() == context) context_stack.pop_back();
  contexts_.erase(context);
  if (--on.contexts == 0) on.shared->leave();
  return CUDA_SUCCESS;
}

void Driver::finish(const Ending& ending) {
  if (ending.context == 0) return;
  wait_for(ending.wait);
  const std::lock_guard guard(mutex);
  memory.release_context(ending.context);
  publish_memory(ending.device);
}

}  // namespace gpusim
