// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs.
#include <algorithm>

#include "cuda_abi.h"
#include "driver.h"
#include "export.h"

using gpusim::call;
using gpusim::Capture;
using gpusim::Driver;
using gpusim::Graph;
using gpusim::GraphExec;
using gpusim::GraphNode;
using gpusim::now_ns;
using gpusim::Stream;

namespace {

// Every branch that was forked must have come back to the stream that began.
bool joined(const Graph& graph, const std::vector<uint32_t>& tips) {
  std::vector<bool> followed(graph.nodes.size());
  for (const GraphNode& node : graph.nodes) {
    for (const uint32_t other : node.after) followed[other] = true;
  }
  for (const uint32_t tip : tips) followed[tip] = true;
  return std::find(followed.begin(), followed.end(), false) == followed.end();
}

CUresult instantiate(CUgraphExec* exec, CUgraph handle) {
  return call([&](Driver& driver) {
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    const Graph* graph = driver.graph(handle);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    *exec = driver.add_exec(*graph);
    return CUDA_SUCCESS;
  });
}

// The same operations in the same order.
bool same_shape(const Graph& one, const Graph& other) {
  return std::equal(one.nodes.begin(), one.nodes.end(), other.nodes.begin(), other.nodes.end(),
                    [](const GraphNode& a, const GraphNode& b) {
                      return a.operation.kind == b.operation.kind && a.after == b.after;
                    });
}

}  // namespace

extern "C" {

CUresult sim_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    if (target->legacy()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (target->capture) return CUDA_ERROR_ILLEGAL_STATE;
    target->capture = std::make_shared<Capture>();
    target->capture->origin = target;
    target->tips.clear();
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return call([&](Driver& driver) {
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    if (!target->capture) return CUDA_ERROR_ILLEGAL_STATE;
    const std::shared_ptr<Capture> capture = target->capture;
    if (capture->origin != target) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    const bool whole = joined(capture->graph, target->tips);
    capture->ended = true;
    driver.forget(capture.get());
    *graph = nullptr;
    if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!whole) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = driver.add_graph(std::move(capture->graph));
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return call([&](Driver& driver) {
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    const Stream* target = driver.stream(stream, &error);
    if (!target) return error;
    *status = !target->capture          ? CU_STREAM_CAPTURE_STATUS_NONE
              : target->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                        : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

// Nodes are counted; there is nothing to be done with one.
CUresult sim_cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  return call([&](Driver& driver) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    const Graph* graph = driver.graph(handle);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; nodes && i < std::min(*count, graph->nodes.size()); ++i) {
      nodes[i] = reinterpret_cast<CUgraphNode>(i + 1);
    }
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return instantiate(exec, graph);
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                          CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (!params) return CUDA_ERROR_INVALID_VALUE;
  params->hErrNode_out = nullptr;
  params->result_out = 0;
  return instantiate(exec, graph);
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle,
                                  CUgraphExecUpdateResultInfo* result) {
  constexpr int kTopologyChanged = 2;
  return call([&](Driver& driver) {
    if (!result) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard guard(driver.mutex);
    const auto exec = driver.exec(handle);
    const Graph* graph = driver.graph(graph_handle);
    if (!exec || !graph) return CUDA_ERROR_INVALID_VALUE;
    const bool same = same_shape(exec->graph, *graph);
    *result = {same ? 0 : kTopologyChanged, nullptr, nullptr};
    if (!same) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    exec->graph = *graph;
    return CUDA_SUCCESS;
  });
}

CUresult sim_cuGraphUpload(CUgraphExec handle, CUstream stream) {
  return call([&](Driver& driver) {
    CUresult error = CUDA_SUCCESS;
    const std::lock_guard guard(driver.mutex);
    if (!driver.exec(handle)) return CUDA_ERROR_INVALID_VALUE;
    driver.stream(stream, &error);
    return error;
  });
}

CUresult sim_cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  const int64_t entry = now_ns();
  return call([&](Driver& driver) {
    std::unique_lock guard(driver.mutex);
    const auto exec = driver.exec(handle);
    guard.unlock();
    return exec ? driver.launch(*exec, stream, entry) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult sim_cuGraphExecDestroy(CUgraphExec exec) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.destroy_exec(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult sim_cuGraphDestroy(CUgraph graph) {
  return call([&](Driver& driver) {
    const std::lock_guard guard(driver.mutex);
    return driver.destroy_graph(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // extern "C"

GPUSIM_EXPORT_TWIN(cuStreamBeginCapture_v2, _ptsz);
GPUSIM_EXPORT_TWIN(cuStreamEndCapture, _ptsz);
GPUSIM_EXPORT_TWIN(cuStreamIsCapturing, _ptsz);
GPUSIM_EXPORT(cuGraphGetNodes);
GPUSIM_EXPORT(cuGraphInstantiateWithFlags);
GPUSIM_EXPORT_TWIN(cuGraphInstantiateWithParams, _ptsz);
GPUSIM_EXPORT(cuGraphExecUpdate_v2);
GPUSIM_EXPORT_TWIN(cuGraphUpload, _ptsz);
GPUSIM_EXPORT_TWIN(cuGraphLaunch, _ptsz);
GPUSIM_EXPORT(cuGraphExecDestroy);
GPUSIM_EXPORT(cuGraphDestroy);
