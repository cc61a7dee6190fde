// SPDX-License-Identifier: Apache-2.0
// How the driver plans work: at once, or, behind a host function, when that has returned.
#include <sched.h>
#include <unistd.h>

#include <cstdio>

#include "driver.h"

namespace gpusim {
namespace {

uint32_t thread_id() {
  thread_local const auto id = static_cast<uint32_t>(gettid());
  return id;
}

uint32_t add_node(Capture& capture, const Operation& operation, std::vector<uint32_t> after) {
  capture.graph.nodes.push_back({operation, std::move(after)});
  return static_cast<uint32_t>(capture.graph.nodes.size() - 1);
}

}  // namespace

// Work for a legacy stream while a stream that it joins captures would have to wait for the graph.
CUresult Driver::check_capture(Stream& stream) {
  if (!stream.legacy()) {
    return stream.capture && stream.capture->broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                                    : CUDA_SUCCESS;
  }
  for (const Stream* other : stream.context->streams) {
    if (!other->blocking || !other->capture) continue;
    other->capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return CUDA_SUCCESS;
}

template <typename Captured, typename Planned>
CUresult Driver::enqueue(CUstream handle, int64_t api_ns, const Captured& capture,
                         const Planned& plan) {
  // How long a thread looks away that cannot know when there will be room.
  constexpr int64_t kLookAgainNs = 20'000;
  std::shared_ptr<Context> paid;
  std::unique_lock<std::mutex> launching;
  // The handle is looked up again after each wait: another thread may have destroyed the stream.
  for (;;) {
    std::unique_lock guard(mutex);
    if (!current()) return CUDA_ERROR_INVALID_CONTEXT;
    CUresult error = CUDA_SUCCESS;
    Stream* target = stream(handle, &error);
    if (!target) return error;
    error = check_capture(*target);
    if (error != CUDA_SUCCESS) return error;
    if (target->capture) {
      capture(*target);
      return CUDA_SUCCESS;
    }
    const int64_t room_ns = target->room_ns();
    if (room_ns > api_ns && room_ns > now_ns()) {
      guard.unlock();
      if (launching) launching.unlock();
      burn_until(room_ns == kUnknown ? now_ns() + kLookAgainNs : room_ns);
      continue;
    }
    if (!paid) {
      paid = contexts_.at(target->context);
      const int64_t cost_ns = device(*paid).shared->config().launch_cost_ns;
      guard.unlock();
      launching = std::unique_lock(paid->lock);
      burn_until(now_ns() + cost_ns);
      continue;
    }
    return plan(*target);
  }
}

OpRecord Driver::record_of(const Stream& stream, const Operation& operation, int64_t api_ns) const {
  OpRecord record = {};
  record.api_ns = api_ns;
  record.bytes = operation.bytes;
  record.pid = pid_;
  record.tid = thread_id();
  record.kind = operation.kind;
  record.context = stream.context->id;
  record.stream = stream.id;
  std::snprintf(record.name, sizeof(record.name), "%s", operation.name.c_str());
  return record;
}

CUresult Driver::submit(CUstream handle, const Operation& operation, Wait* end, bool* captured) {
  const auto capture = [&](Stream& stream) {
    stream.tips = {add_node(*stream.capture, operation, std::move(stream.tips))};
    if (captured) *captured = true;
  };
  const auto plan_one = [&](Stream& stream) {
    SharedDevice& on = *device(*stream.context).shared;
    When ready = gate(stream);
    ready.join(operation.api_ns + on.config().launch_latency_ns);
    When done;
    const CUresult error =
        plan(record_of(stream, operation, operation.api_ns), ready, operation, on, &done);
    if (error != CUDA_SUCCESS) return error;
    stream.push(done);
    stream.tail = done;
    if (end) *end = {done, stream.context->sync_mode};
    return CUDA_SUCCESS;
  };
  return enqueue(handle, operation.api_ns, capture, plan_one);
}

CUresult Driver::launch(GraphExec& exec, CUstream handle, int64_t api_ns) {
  const std::vector<GraphNode>& nodes = exec.graph.nodes;
  bool captured = false;
  // Of a launch in a capture the nodes become nodes of the graph that is captured.
  const auto capture = [&](Stream& stream) {
    captured = true;
    const auto first = static_cast<uint32_t>(stream.capture->graph.nodes.size());
    std::vector<uint32_t> ends;
    std::vector<bool> awaited(nodes.size());
    for (const GraphNode& node : nodes) {
      std::vector<uint32_t> after = node.after;
      for (uint32_t& other : after) {
        awaited[other] = true;
        other += first;
      }
      if (after.empty()) after = stream.tips;
      add_node(*stream.capture, node.operation, std::move(after));
    }
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      if (!awaited[i]) ends.push_back(first + i);
    }
    if (!ends.empty()) stream.tips = std::move(ends);
  };
  const auto plan_all = [&](Stream& stream) {
    SharedDevice& on = *device(*stream.context).shared;
    When ready = gate(stream);
    ready.join(exec.last);
    ready.join(api_ns + on.config().launch_latency_ns);
    std::vector<When> ends(nodes.size());
    When done = ready;
    for (size_t i = 0; i < nodes.size(); ++i) {
      When from = ready;
      for (const uint32_t other : nodes[i].after) from.join(ends[other]);
      OpRecord record = record_of(stream, nodes[i].operation, api_ns);
      record.graph = exec.id;
      const CUresult error = plan(record, from, nodes[i].operation, on, &ends[i]);
      if (error != CUDA_SUCCESS) return error;
      done.join(ends[i]);
    }
    done.settle();
    exec.last = done;
    stream.push(done);
    stream.tail = done;
    return CUDA_SUCCESS;
  };
  const CUresult error = enqueue(handle, api_ns, capture, plan_all);
  if (error != CUDA_SUCCESS || captured) return error;
  for (const GraphNode& node : nodes) {
    if (node.operation.kind != OpKind::kHost && node.operation.run) node.operation.run();
  }
  return CUDA_SUCCESS;
}

CUresult Driver::plan_now(OpRecord& record, int64_t ready_ns, int64_t least_ns,
                          SharedDevice& device) {
  for (;;) {
    switch (device.submit(record, ready_ns, least_ns)) {
      case SharedDevice::Submit::kOk:
        return CUDA_SUCCESS;
      case SharedDevice::Submit::kFull:
        sched_yield();
        break;
      case SharedDevice::Submit::kGone:
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
  }
}

CUresult Driver::plan(const OpRecord& record, When ready, const Operation& operation,
                      SharedDevice& device, When* end) {
  if (operation.kind == OpKind::kHost || !ready.settle()) {
    auto moment = std::make_shared<Moment>();
    end->ns = 0;
    end->open = {moment};
    if (operation.kind == OpKind::kHost) {
      host_thread_.add({record, std::move(ready), operation.run, std::move(moment), &device});
    } else {
      deferred_.push_back(
          {record, std::move(ready), operation.least_ns, std::move(moment), &device});
    }
    return CUDA_SUCCESS;
  }
  OpRecord planned = record;
  const CUresult error = plan_now(planned, ready.ns, operation.least_ns, device);
  *end = {planned.end_ns, {}};
  return error;
}

// What waits for other work comes behind it in the list: one pass finds all that is known.
void Driver::resolve_deferred() {
  for (auto next = deferred_.begin(); next != deferred_.end();) {
    if (!next->ready.settle()) {
      ++next;
      continue;
    }
    // Without a device there is nothing left to wait for.
    if (plan_now(next->record, next->ready.ns, next->least_ns, *next->device) != CUDA_SUCCESS) {
      next->record.end_ns = next->ready.ns;
    }
    next->end->ns.store(next->record.end_ns, std::memory_order_release);
    next = deferred_.erase(next);
  }
  wake_blocked();
}

}  // namespace gpusim
