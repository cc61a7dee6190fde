// SPDX-License-Identifier: Apache-2.0
// Random programs on the simulated driver: whatever threads submit, streams keep their order,
// engines run one thing at a time, and nothing is said to be done before its planned end.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "shared_device.h"
#include "testing.h"

namespace gpusim::testing {
namespace {

constexpr int kThreads = 3;
constexpr int kSteps = 400;
constexpr size_t kBytes = 4096;

// A stream of one thread was said to be done: all that this thread had put there by then.
struct Finding {
  uint32_t tid;
  uint32_t mark;  // how many operations the thread had submitted
  int64_t seen_ns;
};

struct Findings {
  std::atomic<uint32_t> count;
  Finding at[kThreads * kSteps];
};

class Program {
 public:
  Program(const Client& client, Findings& findings, unsigned int seed)
      : client_(client), cuda_(client.cuda), findings_(findings), random_(seed) {
    EXPECT_EQ(cuda_.cuCtxSetCurrent(client.context), CUDA_SUCCESS);
    stream_ = client.stream(pick(2) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    event_ = client.event();
    EXPECT_EQ(cuda_.cuMemAlloc_v2(&device_, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuMemAllocHost_v2(&pinned_, kBytes), CUDA_SUCCESS);
    pageable_.resize(kBytes);
    capture_graph();
  }

  void run() {
    for (int i = 0; i < kSteps; ++i) step();
    EXPECT_EQ(cuda_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
  }

 private:
  unsigned int pick(unsigned int choices) { return static_cast<unsigned int>(random_() % choices); }

  void capture_graph() {
    const CUstream capturing = client_.stream(CU_STREAM_NON_BLOCKING);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuda_.cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_SUCCESS);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client_.launch(5000, capturing), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuStreamEndCapture(capturing, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuda_.cuGraphInstantiateWithFlags(&exec_, graph, 0), CUDA_SUCCESS);
  }

  void done() {
    const int64_t now = now_ns();
    findings_.at[findings_.count++] = {static_cast<uint32_t>(gettid()), submitted_, now};
  }

  void step() {
    switch (pick(9)) {
      case 0:
        EXPECT_EQ(cuda_.cuMemcpyHtoDAsync_v2(device_, pinned_, kBytes, stream_), CUDA_SUCCESS);
        ++submitted_;
        break;
      case 1:
        EXPECT_EQ(cuda_.cuMemcpyHtoDAsync_v2(device_, pageable_.data(), kBytes, stream_),
                  CUDA_SUCCESS);
        ++submitted_;
        break;
      case 2:
        EXPECT_EQ(cuda_.cuMemcpyDtoHAsync_v2(pageable_.data(), device_, kBytes, stream_),
                  CUDA_SUCCESS);
        ++submitted_;
        done();
        break;
      case 3:
        EXPECT_EQ(cuda_.cuGraphLaunch(exec_, stream_), CUDA_SUCCESS);
        submitted_ += 3;
        break;
      case 4:
        EXPECT_EQ(cuda_.cuLaunchHostFunc(stream_, [](void*) {}, nullptr), CUDA_SUCCESS);
        ++submitted_;
        break;
      case 5:
        EXPECT_EQ(cuda_.cuStreamSynchronize(stream_), CUDA_SUCCESS);
        done();
        break;
      case 6:
        EXPECT_EQ(cuda_.cuEventRecord(event_, stream_), CUDA_SUCCESS);
        if (cuda_.cuEventQuery(event_) == CUDA_SUCCESS) done();
        break;
      default:
        EXPECT_EQ(client_.launch(pick(30'000), stream_), CUDA_SUCCESS);
        ++submitted_;
        if (cuda_.cuStreamQuery(stream_) == CUDA_SUCCESS) done();
        break;
    }
  }

  const Client& client_;
  const Cuda& cuda_;
  Findings& findings_;
  std::mt19937 random_;
  uint32_t submitted_ = 0;
  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr device_ = 0;
  void* pinned_ = nullptr;
  std::vector<char> pageable_;
  CUgraphExec exec_ = nullptr;
};

const char* engine_of(const ScheduledOp& op) {
  if (op.kind == "h2d" || op.kind == "d2h") return op.kind == "h2d" ? "up" : "down";
  return op.kind == "host" ? "host" : "compute";
}

class GpusimRandom : public ::testing::TestWithParam<unsigned int> {};

TEST_P(GpusimRandom, KeepsOrderAndSaysNothingTooEarly) {
  Daemon daemon;
  Reported<Findings> findings;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const unsigned int modes[] = {CU_CTX_SCHED_SPIN, CU_CTX_SCHED_YIELD,
                                  CU_CTX_SCHED_BLOCKING_SYNC};
    const Client client(cuda, modes[GetParam() % 3]);
    std::vector<std::thread> threads;
    for (unsigned int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { Program(client, *findings, GetParam() * kThreads + i).run(); });
    }
    for (std::thread& thread : threads) thread.join();
  });
  const auto ops = daemon.schedule();
  std::map<std::string, std::vector<ScheduledOp>> engines;
  std::map<uint32_t, std::vector<ScheduledOp>> threads;
  for (const ScheduledOp& op : ops) {
    engines[engine_of(op)].push_back(op);
    threads[op.tid].push_back(op);
  }
  ASSERT_EQ(threads.size(), size_t{kThreads});
  for (auto& [name, runs] : engines) {
    std::sort(runs.begin(), runs.end(),
              [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    for (size_t i = 1; i < runs.size(); ++i) {
      ASSERT_GE(runs[i].start_ns, runs[i - 1].end_ns) << name << " " << runs[i].number;
    }
  }
  // What waits for a host function is planned later: calls are in the order of their entries.
  for (auto& [tid, calls] : threads) {
    std::stable_sort(calls.begin(), calls.end(),
                     [](const auto& a, const auto& b) { return a.api_ns < b.api_ns; });
    for (size_t i = 1; i < calls.size(); ++i) {
      ASSERT_GE(calls[i].start_ns, calls[i - 1].end_ns) << calls[i].number;
      ASSERT_EQ(calls[i].stream, calls[0].stream);
    }
  }
  ASSERT_GT(findings->count, 0U);
  for (uint32_t i = 0; i < findings->count; ++i) {
    const Finding& finding = findings->at[i];
    if (finding.mark == 0) continue;
    ASSERT_GE(finding.seen_ns, threads[finding.tid][finding.mark - 1].end_ns) << finding.mark;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GpusimRandom, ::testing::Range(0U, 6U));

}  // namespace
}  // namespace gpusim::testing
