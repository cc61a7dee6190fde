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

#include "slices.h"
#include "timeline.h"

namespace gpusim {

enum class OpKind : uint8_t {
  kKernel,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kMemset,
  kPeer,    // between devices
  kHost,    // a host function: on no engine, its times are measured
  kSlices,  // no operation: the pieces of the kernel whose record is before it
};

constexpr uint64_t kMagic = 0x325645444d495347;  // "GSIMDEV2"
constexpr uint32_t kMaxComputeSlots = 16;
constexpr uint32_t kEngineHostToDevice = kMaxComputeSlots;
constexpr uint32_t kEngineDeviceToHost = kMaxComputeSlots + 1;
constexpr uint32_t kEnginePeer = kMaxComputeSlots + 2;
constexpr uint32_t kEngines = kMaxComputeSlots + 3;
constexpr uint32_t kNoEngine = kEngines;
constexpr size_t kNameBytes = 184;
constexpr uint32_t kMaxClients = 64;
constexpr uint32_t kPiecesPerRecord = kNameBytes / sizeof(Reservation);
constexpr uint32_t kMaxSliceRecords = 46;

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
  uint32_t graph;  // the executable graph it was a node of; 0: none
  OpKind kind;
  uint8_t slice_records;  // how many kSlices follow
  // Zero-terminated. Of kSlices: the pieces, `bytes` of them.
  char name[kNameBytes];
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
  double p2p_bytes_per_ns;
  double staging_bytes_per_ns;  // of pageable memory, by the caller's CPU
  int64_t launch_cost_ns;       // CPU time of a submitting call
  int64_t alloc_cost_ns;        // CPU time of an allocation
  int64_t time_slice_ns;        // 0: processes run one after the other
  int64_t half_clocks_from_ns;  // kernels that start later last twice as long
  uint32_t compute_slots;
  uint32_t ring_ops;
};

enum class DeviceState : uint32_t { kStarting, kReady, kStopped };

struct DeviceMemory {
  uint64_t magic;
  DeviceConfig config;
  std::atomic<DeviceState> state;
  // For monitoring. gpusimd renews the utilization (a kernel ran, percent of the last sixth of a
  // second) and the memory in use six times a second; a client's slot is its own while it holds a
  // context. Any process may read these without the lock.
  std::atomic<uint32_t> utilization_percent;
  std::atomic<int64_t> utilization_at_ns;  // end of that window; 0: none yet
  std::atomic<uint64_t> memory_used_bytes;
  std::atomic<uint32_t> client_pids[kMaxClients];  // 0: free
  std::atomic<uint64_t> client_bytes[kMaxClients];
  uint8_t uuid[16];      // derived from the PCI bus id
  uint32_t xid;          // scripted fault number, 0: none
  int64_t xid_at_ns;     // when it happens
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
  const DeviceMemory& memory() const { return *memory_; }
  OpRecord& record(uint64_t number) { return ring_[number & (memory_->config.ring_ops - 1)]; }

  // Plans `op` to start no earlier than `ready_ns`: fills in engine, start and end and publishes
  // it. A kernel lasts `least_ns`; a copy or memset what its bytes need, but no less than that.
  // kFull: no room in the ring now, nothing was done.
  Submit submit(OpRecord& op, int64_t ready_ns, int64_t least_ns);

  // Publishes what no engine runs, with the times it has.
  Submit add(OpRecord& op);

  // Shows this process as one that holds a context, until leave() or its end. False: no slot left.
  bool enter();
  void leave();
  void set_client_bytes(uint64_t bytes);
  // For the daemon: frees the slots of clients that are gone.
  void sweep_clients();
  // For a forked child: the parent's slot must not live on with it.
  void abandon();

  // For a daemon that stops: true with the lock held, false if its owner does not let go in time.
  bool lock_within(int64_t timeout_ns);
  void unlock();

 private:
  bool lock();
  // Locks, with room for as many records as an operation may need. Unlocked unless kOk.
  Submit begin();
  void publish(OpRecord& op, const Pieces& pieces);
  uint32_t max_records() const;
  TimeShare share() const;
  void lay_kernel(OpRecord& op, int64_t ready_ns, int64_t kernel_ns, Pieces* pieces) const;
  bool entered(int lock_result);
  void rebuild_engines();
  bool map(int fd, size_t bytes);
  int64_t copy_duration(const OpRecord& op) const;

  int fd_ = -1;
  int client_ = -1;
  size_t bytes_ = 0;
  DeviceMemory* memory_ = nullptr;
  OpRecord* ring_ = nullptr;
};

}  // namespace gpusim
