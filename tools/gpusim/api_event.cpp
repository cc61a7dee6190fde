// SPDX-License-Identifier: Apache-2.0
// Events.
#include <algorithm>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;
using gpusim::Event;
using gpusim::now_ns;
using gpusim::Stream;
using gpusim::SyncMode;
using gpusim::Wait;

namespace {

constexpr unsigned int kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult record(int64_t entry, CUevent event, CUstream stream) {
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    Event* recorded = driver.event(event);
    if (!recorded) return CUDA_ERROR_INVALID_HANDLE;
    recorded->capture = target->capture;
    recorded->tips = target->tips;
    if (target->capture) return CUDA_SUCCESS;
    // In an idle stream the record is done at once; it is no operation of its own.
    recorded->done = gate(*target);
    recorded->done.join(entry);
    recorded->recorded = true;
    target->extend(recorded->done);
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" {

CUresult sim_cuEventCreate(CUevent* event, unsigned int flags) {
  return call([&](Driver& driver) {
    if (!event || (flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    if (!driver.current()) return CUDA_ERROR_INVALID_CONTEXT;
    *event = driver.create_event(flags);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuEventRecord(CUevent event, CUstream stream) {
  return record(now_ns(), event, stream);
}

CUresult sim_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int) {
  return record(now_ns(), event, stream);
}

CUresult sim_cuEventQuery(CUevent event) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    Event* queried = driver.event(event);
    if (!queried) return CUDA_ERROR_INVALID_HANDLE;
    if (queried->capture) return CUDA_ERROR_CAPTURED_EVENT;
    return queried->done.reached(now_ns()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult sim_cuEventSynchronize(CUevent event) {
  return call([&](Driver& driver) {
    std::unique_lock guard(driver.mutex);
    const Event* awaited = driver.event(event);
    if (!awaited) return CUDA_ERROR_INVALID_HANDLE;
    if (awaited->capture) return CUDA_ERROR_CAPTURED_EVENT;
    Wait wait = {awaited->done, SyncMode::kSpin};
    if ((awaited->flags & CU_EVENT_BLOCKING_SYNC) != 0) {
      wait.mode = SyncMode::kBlocking;
    } else if (driver.current()) {
      wait.mode = driver.current()->sync_mode;
    }
    guard.unlock();
    gpusim::wait_for(wait);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return call([&](Driver& driver) {
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    Event* from = driver.event(start);
    Event* to = driver.event(end);
    if (!from || !to || !from->recorded || !to->recorded ||
        ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    const int64_t now = now_ns();
    if (!from->done.reached(now) || !to->done.reached(now)) return CUDA_ERROR_NOT_READY;
    const int64_t elapsed = to->done.ns - from->done.ns;
    *milliseconds = static_cast<float>(static_cast<double>(elapsed) / 1e6);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuEventDestroy_v2(CUevent event) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.destroy_event(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // extern "C"

GPUSIM_EXPORT(cuEventCreate);
GPUSIM_EXPORT_TWIN(cuEventRecord, _ptsz);
GPUSIM_EXPORT_TWIN(cuEventRecordWithFlags, _ptsz);
GPUSIM_EXPORT(cuEventQuery);
GPUSIM_EXPORT(cuEventSynchronize);
GPUSIM_EXPORT(cuEventElapsedTime);
GPUSIM_EXPORT(cuEventDestroy_v2);
