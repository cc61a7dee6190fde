// SPDX-License-Identifier: Apache-2.0
// Streams and host functions.
#include <utility>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;
using gpusim::Event;
using gpusim::now_ns;
using gpusim::Operation;
using gpusim::OpKind;
using gpusim::Stream;
using gpusim::Wait;

namespace {

CUresult create_stream(CUstream* stream, unsigned int flags, int priority) {
  return call([&](Driver& driver) {
    if (!stream || (flags & ~static_cast<unsigned int>(CU_STREAM_NON_BLOCKING)) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard guard(driver.mutex);
    return driver.create_stream(flags, priority, stream);
  });
}

// Body of a call about one stream, with the driver's lock held.
template <typename Body>
CUresult about(CUstream handle, const Body& body) {
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    std::unique_lock guard(driver.mutex);
    Stream* stream = driver.stream(handle, &error);
    return stream ? body(driver, *stream, guard) : error;
  });
}

// What asks whether a stream is done breaks its capture.
bool breaks_capture(Stream& stream) {
  if (stream.capture) stream.capture->broken = true;
  return stream.capture != nullptr;
}

// A wait in a capture: the stream joins the event's capture, or its branches.
CUresult wait_in_capture(Stream& stream, const Event& event) {
  if (!event.capture || event.capture->ended) {
    if (stream.capture) stream.capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (stream.legacy()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (stream.capture && stream.capture != event.capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  stream.capture = event.capture;
  stream.tips.insert(stream.tips.end(), event.tips.begin(), event.tips.end());
  return CUDA_SUCCESS;
}

CUresult add_host_function(int64_t entry, CUstream stream, const char* name,
                           std::function<void()> run) {
  return call([&](Driver& driver) {
    Operation operation = {OpKind::kHost, entry, 0, 0, name, std::move(run)};
    return driver.submit(stream, operation, nullptr);
  });
}

}  // namespace

extern "C" {

CUresult sim_cuStreamCreate(CUstream* stream, unsigned int flags) {
  return create_stream(stream, flags, 0);
}

// Priorities are kept; the device plans in order of submission all the same.
CUresult sim_cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return create_stream(stream, flags, priority);
}

CUresult sim_cuStreamDestroy_v2(CUstream stream) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.destroy_stream(stream);
  });
}

CUresult sim_cuStreamSynchronize(CUstream stream) {
  return about(stream, [](Driver&, Stream& target, std::unique_lock<std::mutex>& guard) {
    if (breaks_capture(target)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const Wait wait = {end_of(target), target.context->sync_mode};
    guard.unlock();
    gpusim::wait_for(wait);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamQuery(CUstream stream) {
  return about(stream, [](Driver&, Stream& target, auto&) {
    if (breaks_capture(target)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return end_of(target).reached(now_ns()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult sim_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int) {
  return about(stream, [&](Driver& driver, Stream& target, auto&) {
    const Event* awaited = driver.event(event);
    if (!awaited) return CUDA_ERROR_INVALID_HANDLE;
    if (target.capture || awaited->capture) return wait_in_capture(target, *awaited);
    // The record made so far is what is waited for; a later one of the same event is not.
    if (!awaited->recorded) return CUDA_SUCCESS;
    gpusim::When end = gate(target);
    end.join(awaited->done);
    end.settle();
    target.extend(end);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  return about(stream, [&](Driver&, Stream& target, auto&) {
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = target.flags;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamGetPriority(CUstream stream, int* priority) {
  return about(stream, [&](Driver&, Stream& target, auto&) {
    if (!priority) return CUDA_ERROR_INVALID_VALUE;
    *priority = target.priority;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return about(stream, [&](Driver&, Stream& target, auto&) {
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = reinterpret_cast<CUcontext>(target.context);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                                 unsigned int flags) {
  const int64_t entry = now_ns();
  if (!callback || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return add_host_function(entry, stream, "callback",
                           [=] { callback(stream, CUDA_SUCCESS, data); });
}

CUresult sim_cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  const int64_t entry = now_ns();
  if (!function) return CUDA_ERROR_INVALID_VALUE;
  return add_host_function(entry, stream, "host function", [=] { function(data); });
}

}  // extern "C"

GPUSIM_EXPORT(cuStreamCreate);
GPUSIM_EXPORT(cuStreamCreateWithPriority);
GPUSIM_EXPORT(cuStreamDestroy_v2);
GPUSIM_EXPORT_TWIN(cuStreamSynchronize, _ptsz);
GPUSIM_EXPORT_TWIN(cuStreamQuery, _ptsz);
GPUSIM_EXPORT_TWIN(cuStreamWaitEvent, _ptsz);
GPUSIM_EXPORT_TWIN(cuStreamGetFlags, _ptsz);
GPUSIM_EXPORT_TWIN(cuStreamGetPriority, _ptsz);
GPUSIM_EXPORT_TWIN(cuStreamGetCtx, _ptsz);
GPUSIM_EXPORT_TWIN(cuStreamAddCallback, _ptsz);
GPUSIM_EXPORT_TWIN(cuLaunchHostFunc, _ptsz);
