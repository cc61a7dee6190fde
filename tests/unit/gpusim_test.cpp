// SPDX-License-Identifier: Apache-2.0
// The simulated driver, call by call, against the schedule that its device wrote. Clients run in
// processes of their own. Times are compared with planned times, never with each other across
// threads, so that a loaded host does not decide the result.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "shared_device.h"
#include "testing.h"

namespace gpusim::testing {
namespace {

void expect_no_overlap(std::vector<ScheduledOp> ops) {
  std::sort(ops.begin(), ops.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  for (size_t i = 1; i < ops.size(); ++i) {
    ASSERT_GE(ops[i].start_ns, ops[i - 1].end_ns) << "op " << ops[i].number;
  }
}

TEST(Gpusim, NoDeviceWithoutDaemon) {
  run_client("", [](const Cuda& cuda) { EXPECT_EQ(cuda.cuInit(0), CUDA_ERROR_NO_DEVICE); });
  Daemon daemon;
  ASSERT_TRUE(daemon.ready());
  // Killed: its file is still there.
  daemon.stop(SIGKILL);
  EXPECT_TRUE(std::filesystem::exists(daemon.dir() + "/device.shm"));
  run_client(daemon.dir(), [](const Cuda& cuda) {
    EXPECT_EQ(cuda.cuInit(0), CUDA_ERROR_NO_DEVICE);
    int count = -1;
    EXPECT_EQ(cuda.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    CUstream stream = nullptr;
    EXPECT_EQ(cuda.cuStreamCreate(&stream, 0), CUDA_ERROR_NOT_INITIALIZED);
  });
  // The directory can be used again, and what the dead one left is gone.
  const std::string left = std::filesystem::read_symlink(daemon.dir() + "/device.shm");
  bool ready = false;
  const pid_t next = start_daemon(daemon.dir(), {}, &ready);
  EXPECT_TRUE(ready);
  EXPECT_FALSE(std::filesystem::exists(left));
  bool second_ready = true;
  EXPECT_NE(wait_status(start_daemon(daemon.dir(), {}, &second_ready)), 0);
  EXPECT_FALSE(second_ready);
  run_client(daemon.dir(), [](const Cuda& cuda) { EXPECT_EQ(cuda.cuInit(0), CUDA_SUCCESS); });
  kill(next, SIGTERM);
  EXPECT_EQ(wait_status(next), 0);
  EXPECT_FALSE(std::filesystem::exists(daemon.dir() + "/device.shm"));
}

TEST(Gpusim, DescribesTheDevice) {
  Daemon daemon({"--device-name", "Test Device", "--pci-bus-id", "0001:3b:02.0"}, "/dev/shm");
  ASSERT_TRUE(daemon.ready());
  run_client(daemon.dir(), [](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    char text[64];
    EXPECT_EQ(cuda.cuDeviceGetName(text, sizeof(text), 0), CUDA_SUCCESS);
    EXPECT_STREQ(text, "Test Device");
    EXPECT_EQ(cuda.cuDeviceGetPCIBusId(text, sizeof(text), 0), CUDA_SUCCESS);
    EXPECT_STREQ(text, "0001:3b:02.0");
    int bus = 0;
    EXPECT_EQ(cuda.cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0), CUDA_SUCCESS);
    EXPECT_EQ(bus, 0x3b);
    CUdevice device = 7;
    EXPECT_EQ(cuda.cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    const char* name = nullptr;
    EXPECT_EQ(cuda.cuGetErrorName(CUDA_ERROR_NOT_READY, &name), CUDA_SUCCESS);
    EXPECT_STREQ(name, "CUDA_ERROR_NOT_READY");
  });
}

TEST(Gpusim, RefusesWhatTheDriverRefuses) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
    CUmodule module = nullptr;
    EXPECT_EQ(cuda.cuModuleLoadData(&module, "kernel k ns=1\n"), CUDA_ERROR_INVALID_CONTEXT);
    const Client client(cuda);
    for (const char* image : {"kernel k\n", "kernel k ns=-1\n", "kernel k ns=1x\n", "nonsense\n",
                              "kernel k ns=1 ns=2\n", "kernel k ns=1\nkernel k ns=2\n"}) {
      EXPECT_EQ(cuda.cuModuleLoadData(&module, image), CUDA_ERROR_INVALID_IMAGE) << image;
    }
    CUfunction function = nullptr;
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, client.module, "none"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(cuda.cuLaunchKernel(client.spin, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.cuLaunchKernel(client.spin, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    const CUstream gone = client.stream(0);
    EXPECT_EQ(cuda.cuStreamDestroy_v2(gone), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(1, gone), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuda.cuStreamQuery(gone), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuda.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(1), CUDA_ERROR_INVALID_CONTEXT);

    void* found = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    EXPECT_EQ(cuda.cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, &status), CUDA_SUCCESS);
    EXPECT_EQ(found, reinterpret_cast<void*>(cuda.cuMemAlloc_v2));
    EXPECT_EQ(cuda.cuGetProcAddress_v2("cuNoSuch", &found, 12000, 0, &status), CUDA_SUCCESS);
    EXPECT_EQ(found, nullptr);
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  });
  EXPECT_TRUE(daemon.schedule().empty());
}

TEST(Gpusim, StreamIsFifo) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    for (int i = 1; i <= 50; ++i) ASSERT_EQ(client.launch(i * 10'000), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 50U);
  int64_t tail = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    EXPECT_EQ(ops[i].start_ns, std::max(soonest(ops[i]), tail)) << i;
    EXPECT_EQ(ops[i].end_ns - ops[i].start_ns, static_cast<int64_t>(i + 1) * 10'000);
    EXPECT_EQ(ops[i].kind, "kernel");
    EXPECT_EQ(ops[i].name, "spin_ns");
    tail = ops[i].end_ns;
  }
}

TEST(Gpusim, EnginesOverlap) {
  Daemon daemon({"--h2d-gbps", "1", "--d2h-gbps", "2", "--copy-latency-us", "3"});
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    void* host = nullptr;
    CUdeviceptr device = 0;
    ASSERT_EQ(cuda.cuMemAllocHost_v2(&host, 4 * kMs), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuMemAlloc_v2(&device, 4 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kNever, client.stream(CU_STREAM_NON_BLOCKING)), CUDA_SUCCESS);
    const CUstream up = client.stream(CU_STREAM_NON_BLOCKING);
    const CUstream down = client.stream(CU_STREAM_NON_BLOCKING);
    EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(device, host, 4 * kMs, up), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyDtoHAsync_v2(host, device, 4 * kMs, down), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(device, host, kMs, down), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 4U);
  EXPECT_EQ(ops[1].start_ns, soonest(ops[1]));
  EXPECT_EQ(ops[1].end_ns - ops[1].start_ns, 4 * kMs + 3'000);
  EXPECT_EQ(ops[2].start_ns, soonest(ops[2]));
  EXPECT_EQ(ops[2].end_ns - ops[2].start_ns, 2 * kMs + 3'000);
  // Behind the download in its stream and behind the first upload on their engine.
  EXPECT_EQ(ops[3].start_ns, std::max({soonest(ops[3]), ops[2].end_ns, ops[1].end_ns}));
  EXPECT_EQ(ops[3].kind, "h2d");
  EXPECT_EQ(ops[3].bytes, static_cast<uint64_t>(kMs));
}

TEST(Gpusim, LegacyStreamJoinsBlockingStreamsOnly) {
  Daemon daemon({"--compute-slots", "8"});
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(kNever, client.stream(0)), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs, client.stream(0)), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(2 * kNever, client.stream(CU_STREAM_NON_BLOCKING)), CUDA_SUCCESS);
    // Handle 1 is the legacy stream by name.
    EXPECT_EQ(client.launch(kMs, reinterpret_cast<CUstream>(1)), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 5U);
  EXPECT_EQ(ops[1].stream, 0U);
  EXPECT_EQ(ops[1].start_ns, ops[0].end_ns);
  EXPECT_EQ(ops[2].start_ns, ops[1].end_ns);
  EXPECT_EQ(ops[3].start_ns, soonest(ops[3]));
  EXPECT_EQ(ops[4].stream, 0U);
  EXPECT_EQ(ops[4].start_ns, ops[2].end_ns);
}

TEST(Gpusim, ReadyWorkTakesTheGapBeforeAwaitedWork) {
  // Slow enough for the gap to outlast any delay of the client: a copy of 100 s.
  Daemon daemon({"--h2d-gbps", "0.00001"});
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    const CUstream copies = client.stream(CU_STREAM_NON_BLOCKING);
    const CUstream waiting = client.stream(CU_STREAM_NON_BLOCKING);
    const CUevent copied = client.event();
    CUdeviceptr device = 0;
    ASSERT_EQ(cuda.cuMemAlloc_v2(&device, kMs), CUDA_SUCCESS);
    const std::vector<char> host(kMs);
    EXPECT_EQ(cuda.cuMemcpyHtoDAsync_v2(device, host.data(), host.size(), copies), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventRecord(copied, copies), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamWaitEvent(waiting, copied, 0), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs, waiting), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(1, client.stream(CU_STREAM_NON_BLOCKING)), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kNever, client.stream(CU_STREAM_NON_BLOCKING)), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 4U);
  EXPECT_EQ(ops[1].start_ns, ops[0].end_ns);
  EXPECT_EQ(ops[2].start_ns, soonest(ops[2]));
  // Does not fit before the awaited kernel, and does not move it.
  EXPECT_EQ(ops[3].start_ns, ops[1].end_ns);
}

TEST(Gpusim, QueriesAndSynchronize) {
  Daemon daemon;
  Reported<int64_t> returned;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const CUstream stream = client.stream(0);
    const CUevent event = client.event();
    EXPECT_EQ(cuda.cuStreamQuery(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(400 * kMs, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventRecord(event, stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuda.cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuda.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
    *returned = now_ns();
    EXPECT_EQ(cuda.cuStreamQuery(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventQuery(event), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_GE(*returned, ops[0].end_ns);
}

TEST(Gpusim, EventsAreCapturedWhenTheyAreRecordedAndAwaited) {
  Daemon daemon({"--compute-slots", "4"});
  Reported<int64_t> returned;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    const CUstream first = client.stream(CU_STREAM_NON_BLOCKING);
    const CUstream second = client.stream(CU_STREAM_NON_BLOCKING);
    const CUevent event = client.event();
    // Not recorded yet: nothing to wait for.
    EXPECT_EQ(cuda.cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(50 * kMs, first), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventRecord(event, first), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(300 * kMs, first), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventRecord(event, first), CUDA_SUCCESS);
    EXPECT_EQ(client.launch(kMs, second), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventSynchronize(event), CUDA_SUCCESS);
    *returned = now_ns();
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 3U);
  EXPECT_EQ(ops[2].start_ns, std::max(soonest(ops[2]), ops[0].end_ns));
  EXPECT_GE(*returned, ops[1].end_ns);
}

TEST(Gpusim, ElapsedTimeIsPlannedTime) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    const CUevent start = client.event();
    const CUevent end = client.event();
    const CUevent untimed = client.event(CU_EVENT_DISABLE_TIMING);
    float elapsed = 0;
    EXPECT_EQ(client.launch(kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventRecord(start, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventElapsedTime(&elapsed, start, end), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(client.launch(300 * kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventRecord(end, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventRecord(untimed, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventElapsedTime(&elapsed, start, end), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(cuda.cuEventSynchronize(end), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuEventElapsedTime(&elapsed, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(cuda.cuEventElapsedTime(&elapsed, start, end), CUDA_SUCCESS);
    EXPECT_GE(elapsed, 300.0F);
  });
}

struct SyncReport {
  int64_t returned_ns[20];
  long blocked;
};

TEST(Gpusim, SyncModesReturnAtThePlannedEnd) {
  for (const unsigned int flags :
       {CU_CTX_SCHED_SPIN, CU_CTX_SCHED_YIELD, CU_CTX_SCHED_BLOCKING_SYNC}) {
    Daemon daemon;
    Reported<SyncReport> report;
    run_client(daemon.dir(), [&](const Cuda& cuda) {
      const Client client(cuda, flags);
      rusage before = {};
      getrusage(RUSAGE_THREAD, &before);
      for (int64_t& returned : report->returned_ns) {
        ASSERT_EQ(client.launch(5 * kMs), CUDA_SUCCESS);
        ASSERT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
        returned = now_ns();
      }
      rusage after = {};
      getrusage(RUSAGE_THREAD, &after);
      report->blocked = after.ru_nvcsw - before.ru_nvcsw;
    });
    const auto ops = daemon.schedule();
    ASSERT_EQ(ops.size(), std::size(report->returned_ns));
    int64_t least = kNever;
    for (size_t i = 0; i < ops.size(); ++i) {
      EXPECT_GE(report->returned_ns[i], ops[i].end_ns) << flags;
      least = std::min(least, report->returned_ns[i] - ops[i].end_ns);
    }
    // When a yielding thread runs again is the scheduler's affair.
    if (flags != CU_CTX_SCHED_YIELD) {
      EXPECT_LT(least, 5 * kMs) << flags;
    }
    // A blocked thread gives up its CPU once a wait; a spinning one never does.
    if (flags == CU_CTX_SCHED_BLOCKING_SYNC) {
      EXPECT_GE(report->blocked, 15);
    } else if (flags == CU_CTX_SCHED_SPIN) {
      EXPECT_LT(report->blocked, 5);
    }
  }
}

TEST(Gpusim, CopiesMoveBytes) {
  Daemon daemon({"--d2h-gbps", "0.001"});
  Reported<int64_t> returned;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    std::string text = "the quick brown fox";
    std::string back(text.size(), ' ');
    CUdeviceptr from = 0;
    CUdeviceptr to = 0;
    ASSERT_EQ(cuda.cuMemAlloc_v2(&from, text.size()), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuMemAlloc_v2(&to, text.size()), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(from, text.data(), text.size()), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyDtoDAsync_v2(to, from, text.size(), nullptr), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemsetD8Async(to, '-', 3, nullptr), CUDA_SUCCESS);
    // To pageable memory, so synchronous.
    EXPECT_EQ(cuda.cuMemcpyDtoHAsync_v2(back.data(), to, back.size(), nullptr), CUDA_SUCCESS);
    *returned = now_ns();
    EXPECT_EQ(back, "--- quick brown fox");
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(to + 1, text.data(), text.size()), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuda.cuMemFree_v2(from), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuMemcpyHtoD_v2(from, text.data(), 1), CUDA_ERROR_INVALID_VALUE);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 4U);
  const char* kinds[] = {"h2d", "d2d", "memset", "d2h"};
  for (size_t i = 0; i < ops.size(); ++i) EXPECT_EQ(ops[i].kind, kinds[i]);
  EXPECT_GE(*returned, ops[3].end_ns);
}

struct QueueReport {
  int64_t last_free_ns;
  int64_t blocked_ns;
};

TEST(Gpusim, LaunchIntoAFullStreamWaitsForRoom) {
  Daemon daemon;
  Reported<QueueReport> report;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    ASSERT_EQ(client.launch(500 * kMs), CUDA_SUCCESS);
    for (int i = 1; i < 1024; ++i) ASSERT_EQ(client.launch(1), CUDA_SUCCESS);
    report->last_free_ns = now_ns();
    ASSERT_EQ(client.launch(1), CUDA_SUCCESS);
    report->blocked_ns = now_ns();
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 1025U);
  EXPECT_LT(report->last_free_ns, ops[0].end_ns);
  EXPECT_GE(report->blocked_ns, ops[0].end_ns);
  EXPECT_LT(ops[1024].api_ns, ops[0].end_ns);
}

TEST(Gpusim, ForkedChildCannotUseTheDeviceAndEndsWell) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda, CU_CTX_SCHED_BLOCKING_SYNC);
    EXPECT_EQ(client.launch(kMs), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
    const pid_t child = fork();
    if (child == 0) {
      const bool refused = client.launch(1) == CUDA_ERROR_NOT_INITIALIZED &&
                           cuda.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
                           cuda.cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED;
      std::exit(refused ? 0 : 1);
    }
    EXPECT_EQ(wait_status(child), 0);
    EXPECT_EQ(client.launch(1), CUDA_SUCCESS);
  });
  EXPECT_EQ(daemon.schedule().size(), 2U);
}

TEST(Gpusim, ProcessesAndThreadsLoseNothing) {
  constexpr int kProcesses = 3;
  constexpr int kThreads = 2;
  constexpr uint32_t kLaunches = 4000;
  // A ring this small is full most of the time.
  Daemon daemon({"--ring-ops", "64"});
  std::vector<pid_t> clients;
  for (int i = 0; i < kProcesses; ++i) {
    clients.push_back(start_client(daemon.dir(), [](const Cuda& cuda) {
      const Client client(cuda);
      const auto work = [&] {
        EXPECT_EQ(cuda.cuCtxSetCurrent(client.context), CUDA_SUCCESS);
        const CUstream stream = client.stream(CU_STREAM_NON_BLOCKING);
        for (uint32_t n = 0; n < kLaunches; ++n) {
          ASSERT_EQ(client.launch(1000, stream), CUDA_SUCCESS);
        }
        EXPECT_EQ(cuda.cuStreamSynchronize(stream), CUDA_SUCCESS);
      };
      std::thread other(work);
      work();
      other.join();
    }));
  }
  for (const pid_t client : clients) EXPECT_EQ(wait_status(client), 0);
  const auto ops = daemon.schedule();
  EXPECT_EQ(ops.size(), size_t{kProcesses} * kThreads * kLaunches);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> counts;
  for (const ScheduledOp& op : ops) ++counts[{op.pid, op.tid}];
  EXPECT_EQ(counts.size(), size_t{kProcesses} * kThreads);
  for (const auto& [thread, count] : counts) {
    EXPECT_EQ(count, kLaunches);
    EXPECT_EQ(std::count(clients.begin(), clients.end(), static_cast<pid_t>(thread.first)), 1);
  }
  expect_no_overlap(ops);
}

TEST(Gpusim, ClientKilledInsideTheLockLeavesAWholeDevice) {
  Daemon daemon;
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(kNever), CUDA_SUCCESS);
  });
  const pid_t killed = start_client(daemon.dir(), [&](const Cuda&) {
    SharedDevice device;
    ASSERT_TRUE(device.open(daemon.dir()));
    ASSERT_TRUE(device.lock_within(1'000'000'000));
    DeviceMemory& memory = device.memory();
    std::memset(memory.engines, 0xa5, sizeof(memory.engines));
    std::memset(static_cast<void*>(&device.record(memory.head)), 0xa5, sizeof(OpRecord));
    raise(SIGKILL);
  });
  const int status = wait_status(killed);
  ASSERT_TRUE(WIFSIGNALED(status));
  run_client(daemon.dir(), [](const Cuda& cuda) {
    const Client client(cuda);
    EXPECT_EQ(client.launch(kMs), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  ASSERT_EQ(ops.size(), 2U);
  // The device remembers what it had planned.
  EXPECT_EQ(ops[1].start_ns, ops[0].end_ns);
}

TEST(Gpusim, KilledClientsDoNotWedgeTheDevice) {
  Daemon daemon;
  for (int round = 0; round < 20; ++round) {
    int going[2];
    ASSERT_EQ(pipe(going), 0);
    const pid_t client_pid = start_client(daemon.dir(), [&](const Cuda& cuda) {
      const Client client(cuda);
      for (int n = 0;; ++n) {
        ASSERT_EQ(client.launch(0, nullptr), CUDA_SUCCESS);
        if (n == 100) {
          ASSERT_EQ(write(going[1], "x", 1), 1);
        }
      }
    });
    close(going[1]);
    char c = 0;
    EXPECT_EQ(read(going[0], &c, 1), 1);
    close(going[0]);
    kill(client_pid, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(wait_status(client_pid)));
  }
  Reported<uint32_t> last;
  run_client(daemon.dir(), [&](const Cuda& cuda) {
    *last = static_cast<uint32_t>(getpid());
    const Client client(cuda);
    for (int n = 0; n < 100; ++n) ASSERT_EQ(client.launch(1000), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  const auto ops = daemon.schedule();
  EXPECT_EQ(std::count_if(ops.begin(), ops.end(), [&](const auto& op) { return op.pid == *last; }),
            100);
  expect_no_overlap(ops);
}

TEST(Gpusim, StoppedDeviceTakesNothingAndHasWrittenAll) {
  Daemon daemon;
  int told[2];
  int stopped[2];
  ASSERT_EQ(pipe(told), 0);
  ASSERT_EQ(pipe(stopped), 0);
  const pid_t client_pid = start_client(daemon.dir(), [&](const Cuda& cuda) {
    const Client client(cuda);
    for (int n = 0; n < 500; ++n) ASSERT_EQ(client.launch(1), CUDA_SUCCESS);
    ASSERT_EQ(write(told[1], "x", 1), 1);
    char c = 0;
    ASSERT_EQ(read(stopped[0], &c, 1), 1);
    EXPECT_EQ(client.launch(1), CUDA_ERROR_DEVICE_UNAVAILABLE);
    EXPECT_EQ(cuda.cuCtxSynchronize(), CUDA_SUCCESS);
  });
  char c = 0;
  ASSERT_EQ(read(told[0], &c, 1), 1);
  EXPECT_EQ(daemon.schedule().size(), 500U);
  ASSERT_EQ(write(stopped[1], "x", 1), 1);
  EXPECT_EQ(wait_status(client_pid), 0);
}

TEST(Timeline, TakesTheFirstGapThatFits) {
  auto line = std::make_unique<Timeline>();
  line->reserve(100, 200, 0);
  line->reserve(300, 400, 0);
  EXPECT_EQ(line->earliest(0, 100), 0);
  EXPECT_EQ(line->earliest(50, 100), 200);
  EXPECT_EQ(line->earliest(50, 101), 400);
  EXPECT_EQ(line->earliest(150, 0), 200);
  line->reserve(200, 300, 0);
  EXPECT_EQ(line->count, 1U);
  EXPECT_EQ(line->earliest(50, 51), 400);
  line->reserve(500, 600, 450);
  // What ended is forgotten, but nothing may be planned into it.
  EXPECT_EQ(line->count, 1U);
  EXPECT_EQ(line->earliest(0, 10), 400);
}

TEST(Timeline, NeverOverlapsWhenItIsFull) {
  auto line = std::make_unique<Timeline>();
  const auto many = static_cast<int64_t>(Timeline::kCapacity) * 2;
  for (int64_t i = 1; i <= many; ++i) line->reserve(i * 100, i * 100 + 10, 0);
  EXPECT_EQ(line->count, Timeline::kCapacity);
  EXPECT_EQ(line->earliest(many * 100, 20), many * 100 + 10);
  line->reserve(0, 10, 0);
  EXPECT_GE(line->earliest(0, 5), 10);
  for (uint32_t i = 1; i < line->count; ++i) {
    EXPECT_LT(line->busy[i - 1].end_ns, line->busy[i].start_ns);
  }
}

}  // namespace
}  // namespace gpusim::testing
