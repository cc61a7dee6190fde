// SPDX-License-Identifier: Apache-2.0
// Contexts.
#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Context;
using gpusim::Driver;
using gpusim::now_ns;
using gpusim::Wait;

namespace {

constexpr unsigned int kContextFlags = 0xff;

CUcontext handle_of(Context* context) {
  return reinterpret_cast<CUcontext>(context);
}

Context* context_of(CUcontext handle) {
  return reinterpret_cast<Context*>(handle);
}

CUresult create(CUcontext* context, unsigned int flags, CUdevice device) {
  const int64_t entry = now_ns();
  return call([&](Driver& driver) {
    if (!context || (flags & ~kContextFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (!driver.valid(device)) return CUDA_ERROR_INVALID_DEVICE;
    gpusim::burn_until(entry + driver.faults.context_ns);
    const std::lock_guard guard(driver.mutex);
    Context* created = nullptr;
    const CUresult result = driver.create_context(flags, device, &created);
    if (result != CUDA_SUCCESS) return result;
    Driver::push_current(created);
    *context = handle_of(created);
    return CUDA_SUCCESS;
  });
}

// Waits for all of a context's work; the current one's without a handle.
CUresult synchronize(CUcontext handle) {
  return call([&](Driver& driver) {
    std::unique_lock guard(driver.mutex);
    Context* context = handle ? context_of(handle) : driver.current();
    if (!context || !driver.known(context)) return CUDA_ERROR_INVALID_CONTEXT;
    for (gpusim::Stream* stream : context->streams) {
      if (!stream->capture) continue;
      stream->capture->broken = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    const Wait wait = {end_of(*context), context->sync_mode};
    guard.unlock();
    gpusim::wait_for(wait);
    return CUDA_SUCCESS;
  });
}

// Body of a call about the current context.
template <typename Body>
CUresult about_current(const void* out, const Body& body) {
  return call([&](Driver& driver) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    const Context* context = driver.current();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    body(*context);
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult sim_cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
  return create(context, flags, device);
}

CUresult sim_cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned int flags,
                            CUdevice device) {
  return create(context, flags, device);
}

CUresult sim_cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned int flags,
                            CUdevice device) {
  return create(context, flags, device);
}

CUresult sim_cuCtxDestroy_v2(CUcontext context) {
  return call([&](Driver& driver) {
    gpusim::Ending ending;
    std::unique_lock guard(driver.mutex);
    const CUresult result = driver.destroy_context(context_of(context), &ending);
    guard.unlock();
    driver.finish(ending);
    return result;
  });
}

CUresult sim_cuCtxPushCurrent_v2(CUcontext context) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    if (!driver.known(context_of(context))) return CUDA_ERROR_INVALID_CONTEXT;
    Driver::push_current(context_of(context));
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext* context) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    Context* popped = nullptr;
    if (!driver.pop_current(&popped)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = handle_of(popped);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuCtxSetCurrent(CUcontext context) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    if (context && !driver.known(context_of(context))) return CUDA_ERROR_INVALID_CONTEXT;
    Driver::set_current(context_of(context));
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuCtxGetCurrent(CUcontext* context) {
  return call([&](Driver& driver) {
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    *context = handle_of(driver.current());
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuCtxGetDevice(CUdevice* device) {
  return about_current(
      device, [&](const Context& context) { *device = static_cast<CUdevice>(context.device); });
}

CUresult sim_cuCtxGetFlags(unsigned int* flags) {
  return about_current(flags, [&](const Context& context) { *flags = context.flags; });
}

CUresult sim_cuCtxSynchronize(void) {
  return synchronize(nullptr);
}

CUresult sim_cuCtxSynchronize_v2(CUcontext context) {
  return synchronize(context);
}

// Copies between devices need no permission here.
CUresult sim_cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  return call([&](Driver& driver) {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    return driver.current() && driver.known(context_of(peer)) ? CUDA_SUCCESS
                                                              : CUDA_ERROR_INVALID_CONTEXT;
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuCtxCreate_v2);
GPUSIM_EXPORT(cuCtxCreate_v3);
GPUSIM_EXPORT(cuCtxCreate_v4);
GPUSIM_EXPORT(cuCtxDestroy_v2);
GPUSIM_EXPORT(cuCtxPushCurrent_v2);
GPUSIM_EXPORT(cuCtxPopCurrent_v2);
GPUSIM_EXPORT(cuCtxSetCurrent);
GPUSIM_EXPORT(cuCtxGetCurrent);
GPUSIM_EXPORT(cuCtxGetDevice);
GPUSIM_EXPORT(cuCtxGetFlags);
GPUSIM_EXPORT(cuCtxSynchronize);
GPUSIM_EXPORT(cuCtxSynchronize_v2);
GPUSIM_EXPORT(cuCtxEnablePeerAccess);
