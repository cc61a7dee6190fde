// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include <algorithm>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Driver;
using gpusim::Event;
using gpusim::gate_ns;
using gpusim::now_ns;
using gpusim::Stream;
using gpusim::SyncMode;
using gpusim::Wait;

namespace {

constexpr unsigned int kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

// End of what was put into the stream. Only the legacy stream's own work includes other streams'.
int64_t end_of(const Stream& stream) {
  return stream.id == 0 ? gate_ns(stream) : stream.tail_ns;
}

CUresult create_stream(CUstream* stream, unsigned int flags) {
  return call([&](Driver& driver) {
    if (!stream || (flags & ~static_cast<unsigned int>(CU_STREAM_NON_BLOCKING)) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard guard(driver.mutex);
    return driver.create_stream((flags & CU_STREAM_NON_BLOCKING) == 0, stream);
  });
}

}  // namespace

extern "C" {

CUresult sim_cuStreamCreate(CUstream* stream, unsigned int flags) {
  return create_stream(stream, flags);
}

// Priorities are accepted; the device plans in order of submission all the same.
CUresult sim_cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int) {
  return create_stream(stream, flags);
}

CUresult sim_cuStreamDestroy_v2(CUstream stream) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.destroy_stream(stream);
  });
}

CUresult sim_cuStreamSynchronize(CUstream stream) {
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    std::unique_lock guard(driver.mutex);
    const Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    const Wait wait = {end_of(*target), target->context->sync_mode};
    guard.unlock();
    gpusim::wait_for(wait);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamQuery(CUstream stream) {
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    const Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    return now_ns() < end_of(*target) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int) {
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    const Event* awaited = driver.event(event);
    if (!awaited) return CUDA_ERROR_INVALID_HANDLE;
    // The record made so far is what is waited for; a later one of the same event is not.
    if (awaited->recorded) gpusim::extend(*target, std::max(gate_ns(*target), awaited->done_ns));
    return CUDA_SUCCESS;
  });
}

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
  const int64_t entry = now_ns();
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    Event* recorded = driver.event(event);
    if (!recorded) return CUDA_ERROR_INVALID_HANDLE;
    // In an idle stream the record is done at once; it is no operation of its own.
    recorded->done_ns = std::max(entry, gate_ns(*target));
    recorded->recorded = true;
    gpusim::extend(*target, recorded->done_ns);
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuEventQuery(CUevent event) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    const Event* queried = driver.event(event);
    if (!queried) return CUDA_ERROR_INVALID_HANDLE;
    return now_ns() < queried->done_ns ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  });
}

CUresult sim_cuEventSynchronize(CUevent event) {
  return call([&](Driver& driver) {
    std::unique_lock guard(driver.mutex);
    const Event* awaited = driver.event(event);
    if (!awaited) return CUDA_ERROR_INVALID_HANDLE;
    Wait wait = {awaited->done_ns, SyncMode::kSpin};
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
    const Event* from = driver.event(start);
    const Event* to = driver.event(end);
    if (!from || !to || !from->recorded || !to->recorded ||
        ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (now_ns() < std::max(from->done_ns, to->done_ns)) return CUDA_ERROR_NOT_READY;
    *milliseconds = static_cast<float>(static_cast<double>(to->done_ns - from->done_ns) / 1e6);
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

GPUSIM_EXPORT(cuStreamCreate);
GPUSIM_EXPORT(cuStreamCreateWithPriority);
GPUSIM_EXPORT(cuStreamDestroy_v2);
GPUSIM_EXPORT(cuStreamSynchronize);
GPUSIM_EXPORT(cuStreamQuery);
GPUSIM_EXPORT(cuStreamWaitEvent);
GPUSIM_EXPORT(cuEventCreate);
GPUSIM_EXPORT(cuEventRecord);
GPUSIM_EXPORT(cuEventQuery);
GPUSIM_EXPORT(cuEventSynchronize);
GPUSIM_EXPORT(cuEventElapsedTime);
GPUSIM_EXPORT(cuEventDestroy_v2);
