// SPDX-License-Identifier: Apache-2.0
// The simulated device: state in shared memory, owned by gpusimd, planned by its clients.
//
// Every operation gets its start and end when it is submitted, under one robust lock, from times
// alone: how fast the host runs has no part in it. The plan goes to a ring that gpusimd drains.
// A client killed inside the lock leaves at worst torn engine timelines; the next owner rebuilds
// them from the ring, which keeps the most recent plans (an operation exists once `head` covers
// it).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "timeline.h"

namespace gpusim {

enum class OpKind : uint8_t { kKernel, kHostToDevice, kDeviceToHost, kDeviceToDevice, kMemset };

constexpr uint64_t kMagic = 0x315645444d495347;  // "GSIMDEV1"
constexpr uint32_t kMaxComputeSlots = 16;
constexpr uint32_t kEngineHostToDevice = kMaxComputeSlots;
constexpr uint32_t kEngineDeviceToHost = kMaxComputeSlots + 1;
constexpr uint32_t kEngines = kMaxComputeSlots + 2;
constexpr size_t kNameBytes = 184;

struct OpRecord {
  int64_t api_ns;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t bytes;
  uint32_t pid;
  uint32_t tid;
  uint32_t context;
  uint32_t stream;  // 0: the legacy default stream
  uint32_t engine;
  OpKind kind;
  char name[kNameBytes];  // zero-terminated
};

struct DeviceConfig {
  char name[96];
  char pci_bus_id[32];
  uint64_t memory_bytes;
  int64_t launch_latency_ns;
  int64_t copy_latency_ns;
  double h2d_bytes_per_ns;
  double d2h_bytes_per_ns;
  double d2d_bytes_per_ns;
  uint32_t compute_slots;
  uint32_t ring_ops;
};

enum class DeviceState : uint32_t { kStarting, kReady, kStopped };

struct DeviceMemory {
  uint64_t magic;
  DeviceConfig config;
  std::atomic<DeviceState> state;
  pthread_mutex_t lock;  // guards `engines` and advancing `head`
  Timeline engines[kEngines];
  alignas(64) std::atomic<uint64_t> head;  // operations planned; the next one's number
  alignas(64) std::atomic<uint64_t> tail;  // operations gpusimd has taken
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

int64_t now_ns();

// A mapping of the device's file; client and daemon side alike.
class SharedDevice {
 public:
  enum class Submit { kOk, kFull, kGone };

  SharedDevice() = default;
  ~SharedDevice();
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  // Maps the running device of `dir`; false if there is none.
  bool open(const std::string& dir);
  // Formats the (empty) file `fd` as a new device and takes the descriptor.
  bool create(int fd, const DeviceConfig& config);

  // A running gpusimd holds a file lock, so that a crashed one is not taken for a device.
  bool alive() const;

  const DeviceConfig& config() const { return memory_->config; }
  DeviceMemory& memory() { return *memory_; }
  OpRecord& record(uint64_t number) { return ring_[number & (memory_->config.ring_ops - 1)]; }

  // Plans `op` to start no earlier than `ready_ns`: fills in engine, start and end and publishes
  // it. A copy or memset lasts what its bytes need, a kernel `kernel_ns`. kFull: no room in the
  // ring now, nothing was done.
  Submit submit(OpRecord& op, int64_t ready_ns, int64_t kernel_ns);

  // For a daemon that stops: true with the lock held, false if its owner does not let go in time.
  bool lock_within(int64_t timeout_ns);
  void unlock();

 private:
  bool lock();
  bool entered(int lock_result);
  void rebuild_engines();
  bool map(int fd, size_t bytes);
  int64_t copy_duration(const OpRecord& op) const;

  int fd_ = -1;
  size_t bytes_ = 0;
  DeviceMemory* memory_ = nullptr;
  OpRecord* ring_ = nullptr;
};

}  // namespace gpusim
