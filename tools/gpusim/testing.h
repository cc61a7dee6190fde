// SPDX-License-Identifier: Apache-2.0
// For tests: a running gpusimd, clients in processes of their own, and the schedule read back.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cuda_abi.h"

namespace gpusim::testing {

// The library's functions, resolved by name as any program would.
struct Cuda {
  void* library;
#define GPUSIM_FUNCTION(name) decltype(&::name) name;
#include "testing_functions.h"
#undef GPUSIM_FUNCTION
#define GPUSIM_TWIN(name, suffix) decltype(&::name) name##suffix;
#include "cuda_twins.h"
#undef GPUSIM_TWIN

  static Cuda load();
};

struct ScheduledOp {
  uint64_t number;
  uint32_t pid;
  uint32_t tid;
  uint32_t context;
  uint32_t stream;
  std::string kind;
  std::string name;
  uint64_t bytes;
  int64_t api_ns;
  int64_t start_ns;
  int64_t end_ns;
  uint32_t graph;
  std::vector<std::pair<int64_t, int64_t>> slices;
};

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kNever = 600'000 * kMs;  // pending for as long as any test runs
constexpr int64_t kLatencyNs = 5'000;      // from a launch to its earliest start, if not set

inline int64_t soonest(const ScheduledOp& op) {
  return op.api_ns + kLatencyNs;
}

class Daemon {
 public:
  explicit Daemon(std::vector<std::string> options = {}, const std::string& parent = "/tmp");
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  const std::string& dir() const { return dir_; }
  bool ready() const { return ready_; }
  // Ends it with `signal`; returns the wait status.
  int stop(int signal);
  pid_t pid() const { return pid_; }
  // Ends it in order, which it must survive, and returns what it wrote.
  std::vector<ScheduledOp> schedule();

 private:
  std::string dir_;
  pid_t pid_ = -1;
  bool ready_ = false;
};

// Starts `daemon --dir dir options`; `ready` tells whether it printed its line.
pid_t start_daemon(const std::string& dir, const std::vector<std::string>& options, bool* ready);

// Runs `body` in a process of its own, which dies with this one. A test failure in there is its
// exit status 1.
pid_t start_client(const std::string& dir, const std::function<void(const Cuda&)>& body);
int wait_status(pid_t pid);
// start_client, and expects it to end well.
void run_client(const std::string& dir, const std::function<void(const Cuda&)>& body);

// Memory that clients fill in for the test to read.
template <typename T>
class Reported {
 public:
  Reported()
      : at_(new(mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                T()) {}
  ~Reported() { munmap(at_, sizeof(T)); }
  Reported(const Reported&) = delete;
  Reported& operator=(const Reported&) = delete;
  T* operator->() const { return at_; }
  T& operator*() const { return *at_; }

 private:
  T* at_;
};

// A client with a context and one kernel whose duration is its parameter.
struct Client {
  explicit Client(const Cuda& library, unsigned int flags = 0, CUdevice device = 0);
  CUresult launch(int64_t ns, CUstream target = nullptr) const;
  CUresult launch_by(decltype(&::cuLaunchKernel) entry, int64_t ns, CUstream target) const;
  CUstream stream(unsigned int flags) const;
  CUevent event(unsigned int flags = 0) const;

  const Cuda& cuda;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction spin = nullptr;
};

}  // namespace gpusim::testing
