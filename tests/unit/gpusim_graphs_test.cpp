// SPDX-License-Identifier: Apache-2.0
// Stream capture, graphs and host functions of the simulated driver.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "shared_device.h"
#include "testing.h"

namespace gpusim::testing {
namespace {

// Captures what `body` submits to a stream of its own.
template <typename Body>
CUgraph captured(const Client& client, const Body& body) {
  const Cuda& cuda = client.cuda;
  const CUstream stream = client.stream(CU_STREAM_NON_BLOCKING);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  body(stream);
  EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  return graph;
}

CUgraphExec instantiated(const Cuda& cuda, CUgraph graph) {
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  return exec;
}

TEST(GpusimGraphs, CaptureSubmitsNothingAndALaunchAllOfIt) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    const CUgraph graph = captured(client, [&](CUstream stream) {
      CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
      EXPECT_EQ(cuda.cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
      EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
      for (int i = 0; i < 3; ++i) EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
    });
    EXPECT_EQ(cuda.cuStreamQuery(nullptr), CUDA_SUCCESS);
    size_t nodes = 0;
    EXPECT_EQ(cuda.cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
    EXPECT_EQ(nodes, 3U);
    const CUgraphExec exec = instantiated(cuda, graph);
    EXPECT_EQ(cuda.cuGraphDestroy(graph), CUDA_SUCCESS);
    const CUstream stream = client.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(cuda.cuGraphUpload(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuGraphExecDestroy(exec), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 5U);
  EXPECT_EQ(ops[0].graph, 0U);
  EXPECT_EQ(ops[1].start_ns, std::max(soonest(ops[1]), ops[0].end_ns));
  for (size_t i = 1; i <= 3; ++i) {
    EXPECT_NE(ops[i].graph, 0U);
    EXPECT_EQ(ops[i].graph, ops[1].graph);
    EXPECT_EQ(ops[i].api_ns, ops[1].api_ns);
    EXPECT_EQ(ops[i].stream, ops[0].stream);
    if (i > 1) {
      EXPECT_EQ(ops[i].start_ns, ops[i - 1].end_ns);
    }
  }
  EXPECT_EQ(ops[4].graph, 0U);
  EXPECT_EQ(ops[4].start_ns, std::max(soonest(ops[4]), ops[3].end_ns));
}

TEST(GpusimGraphs, BranchesForkAndJoinByEvents) {
  Daemon daemon({"--compute-slots", "4"});
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    const CUstream side = client.stream(CU_STREAM_NON_BLOCKING);
    const CUevent fork = client.event();
    const CUevent join = client.event();
    const CUgraph graph = captured(client, [&](CUstream stream) {
      EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuEventRecord(fork, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuStreamWaitEvent(side, fork, 0), CUDA_SUCCESS);
      EXPECT_EQ(client.launch(5 * kMs, side), CUDA_SUCCESS);
      EXPECT_EQ(client.launch(2 * kMs, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuEventRecord(join, side), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
      EXPECT_EQ(cuda.cuStreamWaitEvent(stream, join, 0), CUDA_SUCCESS);
      EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
    });
    const CUgraphExec exec = instantiated(cuda, graph);
    // The other stream is free again.
    EXPECT_EQ(cuda.cuStreamSynchronize(side), CUDA_SUCCESS);
    const CUstream first = client.stream(CU_STREAM_NON_BLOCKING);
    const CUstream second = client.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(cuda.cuGraphLaunch(exec, first), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuGraphLaunch(exec, second), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 8U);
  EXPECT_EQ(ops[0].start_ns, soonest(ops[0]));
  EXPECT_EQ(ops[1].start_ns, ops[0].end_ns);
  EXPECT_EQ(ops[2].start_ns, ops[0].end_ns);
  EXPECT_EQ(ops[3].start_ns, ops[1].end_ns);
  // The launches of one executable graph run one after the other.
  EXPECT_EQ(ops[4].start_ns, std::max(soonest(ops[4]), ops[3].end_ns));
}

TEST(GpusimGraphs, CaptureRefusesWhatHasNoPlaceInAGraph) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    const CUstream stream = client.stream(0);
    const CUstream side = client.stream(CU_STREAM_NON_BLOCKING);
    const CUevent event = client.event();
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    EXPECT_EQ(cuda.cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    const auto begin = [&] {
      EXPECT_EQ(cuda.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    };
    // A branch that does not come back.
    begin();
    EXPECT_EQ(cuda.cuEventRecord(event, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamWaitEvent(side, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(1, side), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamEndCapture(side, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    // Work that would have to wait for the graph, and questions about it.
    begin();
    EXPECT_EQ(client.launch(1, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin();
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(client.launch(1, stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    // An event from outside.
    const CUevent outside = client.event();
    EXPECT_EQ(cuda.cuEventRecord(outside, side), CUDA_SUCCESS);
    begin();
    EXPECT_EQ(cuda.cuStreamWaitEvent(stream, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    EXPECT_EQ(cuda.cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(client.launch(1, stream), CUDA_SUCCESS);
  });
  EXPECT_EQ(daemon.schedule().size(), 1U);
}

TEST(GpusimGraphs, CopiesMoveTheirBytesWithEachLaunch) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    void* pinned = nullptr;
    CUdeviceptr device = 0;
    ASSERT_EQ(cuda.cuMemAllocHost_v2(&pinned, 16), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuMemAlloc_v2(&device, 16), CUDA_SUCCESS);
    char back[16] = {};
    const CUgraph graph = captured(client, [&](CUstream stream) {
      std::strcpy(static_cast<char*>(pinned), "captured");
      EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(device, pinned, 16, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuMemsetD8Async(device, 'L', 1, stream), CUDA_SUCCESS);
    });
    const CUgraphExec exec = instantiated(cuda, graph);
    std::strcpy(static_cast<char*>(pinned), "launched");
    EXPECT_EQ(cuda.cuGraphLaunch(exec, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(back, device, 16), CUDA_SUCCESS);
    EXPECT_STREQ(back, "Launched");
  });
  EXPECT_EQ(daemon.schedule().size(), 3U);
}

TEST(GpusimGraphs, UpdateTakesAGraphOfTheSameShape) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    const auto kernels = [&](int count, int64_t ns) {
      return captured(client, [&](CUstream stream) {
        for (int i = 0; i < count; ++i) EXPECT_EQ(client.launch(ns, stream), CUDA_SUCCESS);
      });
    };
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuda.cuGraphInstantiateWithParams(&exec, kernels(2, kMs), &params), CUDA_SUCCESS);
    CUgraphExecUpdateResultInfo result = {};
    EXPECT_EQ(cuda.cuGraphExecUpdate_v2(exec, kernels(3, kMs), &result),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(cuda.cuGraphExecUpdate_v2(exec, kernels(2, 3 * kMs), &result), CUDA_SUCCESS);
    // In a capture the nodes become nodes of the other graph.
    const CUgraph outer = captured(client, [&](CUstream stream) {
      EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
      EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
    });
    EXPECT_EQ(cuda.cuGraphLaunch(instantiated(cuda, outer), nullptr), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 4U);
  EXPECT_EQ(ops[1].end_ns - ops[1].start_ns, 3 * kMs);
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(ops[i].start_ns, ops[i - 1].end_ns);
}

struct HostReport {
  int64_t begun_ns;
  int64_t ended_ns;
  int64_t synchronized_ns;
  uint32_t tid;
  CUresult inside;
  CUresult query;
  char thread[16];
};

struct HostData {
  HostReport* report;
  const Cuda* cuda;
  CUstream stream;
};

void host_function(void* data) {
  const auto* host = static_cast<HostData*>(data);
  host->report->begun_ns = now_ns();
  host->report->tid = static_cast<uint32_t>(gettid());
  prctl(PR_GET_NAME, host->report->thread);
  host->report->inside = host->cuda->cuStreamQuery(host->stream);
  host->report->ended_ns = now_ns();
}

TEST(GpusimHostFunctions, RunOnTheDriversThreadAndHoldTheStream) {
  for (const unsigned int flags :
       {CU_CTX_SCHED_SPIN, CU_CTX_SCHED_YIELD, CU_CTX_SCHED_BLOCKING_SYNC}) {
    Daemon daemon;
    Reported<HostReport> report;
    run_client(daemon.dir(), [&](const Cuda& cuda) {
      const Client client(cuda, flags);
      const CUstream stream = client.stream(CU_STREAM_NON_BLOCKING);
      const CUstream other = client.stream(CU_STREAM_NON_BLOCKING);
      const CUevent event = client.event();
      HostData data = {&*report, &cuda, stream};
      EXPECT_EQ(client.launch(400 * kMs, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuLaunchHostFunc(stream, host_function, &data), CUDA_SUCCESS);
      EXPECT_EQ(client.launch(2 * kMs, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuEventRecord(event, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
      EXPECT_EQ(client.launch(3 * kMs, other), CUDA_SUCCESS);
      report->query = cuda.cuEventQuery(event);
      EXPECT_EQ(cuda.cuStreamSynchronize(other), CUDA_SUCCESS);
      report->synchronized_ns = now_ns();
      EXPECT_EQ(cuda.cuEventQuery(event), CUDA_SUCCESS);
      float elapsed = 0;
      EXPECT_EQ(cuda.cuEventElapsedTime(&elapsed, event, event), CUDA_SUCCESS);
    });
    const auto ops = daemon.schedule();
    ASSERT_EQ(ops.size(), 4U);
    EXPECT_EQ(ops[1].kind, "host");
    EXPECT_GE(ops[1].start_ns, ops[0].end_ns);
    EXPECT_LE(ops[1].start_ns, report->begun_ns);
    EXPECT_GE(ops[1].end_ns, report->ended_ns);
    EXPECT_EQ(ops[2].start_ns, std::max(soonest(ops[2]), ops[1].end_ns));
    EXPECT_EQ(ops[3].start_ns, std::max(soonest(ops[3]), ops[2].end_ns));
    EXPECT_GE(report->synchronized_ns, ops[3].end_ns);
    EXPECT_NE(report->tid, ops[0].tid);
    EXPECT_EQ(ops[2].tid, ops[0].tid);
    EXPECT_STREQ(report->thread, "cuda-EvtHandlr");
    EXPECT_EQ(report->inside, CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(report->query, CUDA_ERROR_NOT_READY);
  }
}

void callback(CUstream, CUresult status, void* data) {
  if (status == CUDA_SUCCESS) ++*static_cast<std::atomic<int>*>(data);
}

void count(void* data) {
  ++*static_cast<std::atomic<int>*>(data);
}

TEST(GpusimHostFunctions, InAGraphAndAsCallbacksInOrder) {
  Daemon daemon;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda, CU_CTX_SCHED_BLOCKING_SYNC);
    std::atomic<int> calls = 0;
    const CUgraph graph = captured(client, [&](CUstream stream) {
      EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuda.cuLaunchHostFunc(stream, count, &calls), CUDA_SUCCESS);
      EXPECT_EQ(client.launch(kMs, stream), CUDA_SUCCESS);
    });
    const CUgraphExec exec = instantiated(cuda, graph);
    const CUstream stream = client.stream(0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(cuda.cuGraphLaunch(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamAddCallback(stream, callback, &calls, 0), CUDA_SUCCESS);
    // The legacy stream waits for it all.
    EXPECT_EQ(client.launch(kMs, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(calls, 4);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 11U);
  for (size_t i = 1; i < ops.size(); ++i) {
    EXPECT_GE(ops[i].start_ns, ops[i - 1].end_ns) << i;
    if (ops[i].kind == "kernel") {
      EXPECT_EQ(ops[i].start_ns, std::max(soonest(ops[i]), ops[i - 1].end_ns)) << i;
    }
  }
  EXPECT_EQ(ops[1].kind, "host");
  EXPECT_NE(ops[1].graph, 0U);
  EXPECT_EQ(ops[9].kind, "host");
  EXPECT_EQ(ops[9].graph, 0U);
}

TEST(GpusimHostFunctions, QueueBehindOneIsAsDeepAsAnyOther) {
  Daemon daemon;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    std::atomic<int> calls = 0;
    EXPECT_EQ(client.launch(100 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuLaunchHostFunc(nullptr, count, &calls), CUDA_SUCCESS);
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(client.launch(1), CUDA_SUCCESS);
    // There was room only after the function.
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2002U);
  for (size_t i = 1; i < ops.size(); ++i) ASSERT_GE(ops[i].start_ns, ops[i - 1].end_ns) << i;
}

TEST(GpusimHostFunctions, OneThatIsNotDueHoldsNothingElse) {
  Daemon daemon({"--compute-slots", "2"});
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    std::atomic<int> calls = 0;
    const CUstream never = client.stream(CU_STREAM_NON_BLOCKING);
    const CUstream stream = client.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(client.launch(kNever, never), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuLaunchHostFunc(never, count, &calls), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuLaunchHostFunc(stream, count, &calls), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(cuda.cuStreamQuery(never), CUDA_ERROR_NOT_READY);
  });
  EXPECT_EQ(daemon.schedule().size(), 2U);
}

}  // namespace
}  // namespace gpusim::testing
