// SPDX-License-Identifier: Apache-2.0
// The client side of the simulated driver: contexts, streams and events of this process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

#include "cuda_abi.h"
#include "memory_map.h"
#include "module.h"
#include "shared_device.h"

namespace gpusim {

constexpr size_t kStreamDepth = 1024;

enum class SyncMode { kSpin, kYield, kBlocking };

struct Context;

// Times are planned ones: a stream is its tail, an event the tail it was recorded at.
struct Stream {
  Context* context = nullptr;
  uint32_t id = 0;
  bool blocking = true;  // joins the legacy default stream
  int64_t tail_ns = 0;
  std::array<int64_t, kStreamDepth> ends_ns = {};  // of the last kStreamDepth operations
  size_t next = 0;

  // When the queue has room for one more.
  int64_t room_ns() const { return ends_ns[next]; }
};

struct Context {
  uint32_t id = 0;
  SyncMode sync_mode = SyncMode::kSpin;
  Stream legacy;
  // Latest tails, destroyed streams included: of all streams, and of those the legacy one joins.
  int64_t all_ns = 0;
  int64_t blocking_ns = 0;
};

struct Event {
  unsigned int flags = 0;
  bool recorded = false;
  int64_t done_ns = 0;
};

struct Operation {
  OpKind kind = OpKind::kKernel;
  int64_t api_ns = 0;
  uint64_t bytes = 0;
  int64_t kernel_ns = 0;
  const char* name = "";
};

struct Wait {
  int64_t until_ns = 0;
  SyncMode mode = SyncMode::kSpin;
};

// When everything that work in `stream` must wait for is done.
int64_t gate_ns(const Stream& stream);
// Makes the stream busy until `end_ns`.
void extend(Stream& stream, int64_t end_ns);
// Returns once `now_ns()` has reached the planned time.
void wait_for(const Wait& wait);

class Driver {
 public:
  static Driver& get();

  CUresult init();
  // True in a process forked after init(): as with the real driver, it cannot use the device.
  bool usable() const { return ready_.load(std::memory_order_acquire) && !forked_; }

  // Everything below needs usable(), and `mutex` held but for submit() and device().
  std::mutex mutex;
  const DeviceConfig& device() const { return device_->config(); }

  CUresult create_context(SyncMode mode, Context** context);
  CUresult retain_primary(Context** context);
  CUresult release_primary(Wait* wait);
  // Takes the context with its streams out of use; its work ends by `wait`.
  CUresult destroy_context(Context* context, Wait* wait);
  bool known(const Context* context) const { return contexts_.count(context) != 0; }
  Context* current() const;
  static void set_current(Context* context);

  CUresult create_stream(bool blocking, CUstream* handle);
  CUresult destroy_stream(CUstream handle);
  // Null: an unknown handle, or the default stream without a current context.
  Stream* stream(CUstream handle, CUresult* error) const;

  CUevent create_event(unsigned int flags);
  bool destroy_event(CUevent handle);
  Event* event(CUevent handle) const;

  // Plans an operation; blocks (spins) while the stream's queue or the device's ring is full.
  // `end_ns` may be null.
  CUresult submit(CUstream handle, const Operation& operation, Wait* end);

  MemoryMap memory;
  ModuleTable modules;

 private:
  Driver() = default;

  std::atomic<bool> ready_ = false;
  bool forked_ = false;
  uint32_t pid_ = 0;
  std::unique_ptr<SharedDevice> device_;
  std::unordered_map<const Context*, std::unique_ptr<Context>> contexts_;
  std::unordered_map<CUstream, std::unique_ptr<Stream>> streams_;
  std::unordered_map<CUevent, std::unique_ptr<Event>> events_;
  Context* primary_ = nullptr;
  unsigned int primary_users_ = 0;
  uint32_t last_context_ = 0;
  uint32_t last_stream_ = 0;
};

// Body of an API call that needs an initialised driver; nothing is thrown across the C interface.
template <typename Body>
CUresult call(const Body& body) {
  Driver& driver = Driver::get();
  if (!driver.usable()) return CUDA_ERROR_NOT_INITIALIZED;
  try {
    return body(driver);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace gpusim
