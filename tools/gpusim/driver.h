// SPDX-License-Identifier: Apache-2.0
// The client side of the simulated driver: devices, contexts, streams, events and graphs of this
// process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "cuda_abi.h"
#include "faults.h"
#include "host_thread.h"
#include "memory_map.h"
#include "module.h"
#include "operation.h"
#include "shared_device.h"
#include "stream.h"
#include "virtual_memory.h"
#include "wait.h"

namespace gpusim {

// One visible device. Its primary context lives while somebody retains it.
struct Device {
  std::unique_ptr<SharedDevice> shared;
  Context* primary = nullptr;
  unsigned int primary_users = 0;
  unsigned int primary_flags = 0;
  unsigned int contexts = 0;
};

// A context that is taken out of use: its work still has to end, then its memory goes.
struct Ending {
  Wait wait;
  uint32_t context = 0;
  uint32_t device = 0;
};

class Driver {
 public:
  static Driver& get();

  CUresult init();
  // True in a process forked after init(): as with the real driver, it cannot use the device.
  bool usable() const { return ready_.load(std::memory_order_acquire) && !forked_; }

  // Everything below needs usable(), and `mutex` held but for submit(), launch() and the devices'
  // configuration.
  std::mutex mutex;
  size_t devices() const { return devices_.size(); }
  bool valid(CUdevice device) const {
    return device >= 0 && static_cast<size_t>(device) < devices_.size();
  }
  Device& device(CUdevice device) { return devices_[static_cast<size_t>(device)]; }
  const DeviceConfig& config(CUdevice device) { return this->device(device).shared->config(); }
  Device& device(const Context& context) { return devices_[context.device]; }

  CUresult create_context(unsigned int flags, CUdevice device, Context** context);
  CUresult retain_primary(CUdevice device, Context** context);
  CUresult set_primary_flags(CUdevice device, unsigned int flags);
  CUresult release_primary(CUdevice device, Ending* ending);
  // Takes the context with its streams out of use.
  CUresult destroy_context(Context* context, Ending* ending);
  // Without the mutex held. Nothing is to be done for an ending that was not filled in.
  void finish(const Ending& ending);
  bool known(const Context* context) const { return contexts_.count(context) != 0; }
  Context* current() const;
  Context* find_context(uint32_t id) const;
  // A stack for each thread, whose top is the current one.
  static void set_current(Context* context);
  static void push_current(Context* context);
  bool pop_current(Context** context);

  CUresult create_stream(unsigned int flags, int priority, CUstream* handle);
  CUresult destroy_stream(CUstream handle);
  // Null: an unknown handle, or a default stream without a current context.
  Stream* stream(CUstream handle, CUresult* error);
  // Of a thread: whether handle 0 is its own default stream, as in the calls' per-thread twins.
  static void set_per_thread_default(bool on);

  CUevent create_event(unsigned int flags);
  bool destroy_event(CUevent handle);
  Event* event(CUevent handle) const;

  // Submits, or adds to the graph that the stream captures. Blocks (spins) while the stream's queue
  // or the device's ring is full. `end` may be null.
  // `captured`, which may be null, too, tells which.
  CUresult submit(CUstream handle, const Operation& operation, Wait* end, bool* captured = nullptr);
  // One call, whose nodes are planned together. `exec` must outlive it.
  CUresult launch(GraphExec& exec, CUstream handle, int64_t api_ns);

  CUgraph add_graph(Graph graph);
  Graph* graph(CUgraph handle) const;
  bool destroy_graph(CUgraph handle);
  CUgraphExec add_exec(const Graph& graph);
  std::shared_ptr<GraphExec> exec(CUgraphExec handle) const;
  bool destroy_exec(CUgraphExec handle);
  // Ends a capture, and with it that of every stream that joined it.
  void forget(const Capture* capture);

  void publish_memory(uint32_t device);

  MemoryMap memory;
  VirtualMemory virtual_memory;
  ModuleTable modules;
  Faults faults;

 private:
  Driver();

  // What waits for a host function.
  struct Deferred {
    OpRecord record;
    When ready;
    int64_t least_ns;
    std::shared_ptr<Moment> end;
    SharedDevice* device;
  };

  CUresult open_devices();
  void inject();
  // Runs `plan` with the mutex held once the stream has room and the call is paid for, or
  // `capture` if the stream captures.
  template <typename Captured, typename Planned>
  CUresult enqueue(CUstream handle, int64_t api_ns, const Captured& capture, const Planned& plan);
  CUresult check_capture(Stream& stream);
  OpRecord record_of(const Stream& stream, const Operation& operation, int64_t api_ns) const;
  CUresult plan(const OpRecord& record, When ready, const Operation& operation,
                SharedDevice& device, When* end);
  CUresult plan_now(OpRecord& record, int64_t ready_ns, int64_t least_ns, SharedDevice& device);
  void resolve_deferred();

  std::atomic<bool> ready_ = false;
  bool forked_ = false;
  uint32_t pid_ = 0;
  std::vector<Device> devices_;
  std::unordered_map<const Context*, std::shared_ptr<Context>> contexts_;
  std::unordered_map<CUstream, std::unique_ptr<Stream>> streams_;
  std::unordered_map<CUevent, std::unique_ptr<Event>> events_;
  std::unordered_map<CUgraph, std::unique_ptr<Graph>> graphs_;
  std::unordered_map<CUgraphExec, std::shared_ptr<GraphExec>> execs_;
  std::list<Deferred> deferred_;  // in the order of their calls
  HostThread host_thread_;
  uint32_t last_context_ = 0;
  uint32_t last_stream_ = 0;
  uint32_t last_exec_ = 0;
};

// Body of an API call that needs an initialised driver; nothing is thrown across the C interface.
template <typename Body>
CUresult call(const Body& body) {
  Driver& driver = Driver::get();
  if (!driver.usable()) return CUDA_ERROR_NOT_INITIALIZED;
  if (in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  try {
    return body(driver);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace gpusim
