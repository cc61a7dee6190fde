// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace gpusim {
namespace {

thread_local bool per_thread_default = false;

// Not the system's thread id, which a later thread may get again.
uint64_t thread_number() {
  static std::atomic<uint64_t> last = 0;
  thread_local const uint64_t number = ++last;
  return number;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t length = text.find(separator);
    parts.emplace_back(text.substr(0, length));
    if (length == std::string_view::npos) return parts;
    text.remove_prefix(length + 1);
  }
}

// CUDA_VISIBLE_DEVICES: the list ends before the first entry that names no device.
std::vector<std::string> visible(std::vector<std::string> dirs) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return dirs;
  std::vector<std::string> chosen;
  for (const std::string& entry : split(list, ',')) {
    size_t ordinal = 0;
    const char* end = entry.data() + entry.size();
    const auto [stop, error] = std::from_chars(entry.data(), end, ordinal);
    if (error != std::errc() || stop != end || ordinal >= dirs.size()) break;
    chosen.push_back(dirs[ordinal]);
  }
  return chosen;
}

}  // namespace

Driver::Driver() : host_thread_(mutex, [this] { resolve_deferred(); }) {}

Driver& Driver::get() {
  // Never destroyed: threads may still be inside the driver while the process exits.
  static Driver* const driver = new Driver;
  return *driver;
}

CUresult Driver::open_devices() {
  const char* dirs = std::getenv("GPUSIM_DIR");
  if (!dirs || !*dirs) return CUDA_ERROR_NO_DEVICE;
  std::vector<Device> devices;
  for (const std::string& dir : visible(split(dirs, ':'))) {
    auto shared = std::make_unique<SharedDevice>();
    if (!shared->open(dir)) return CUDA_ERROR_NO_DEVICE;
    devices.emplace_back().shared = std::move(shared);
  }
  if (devices.empty()) return CUDA_ERROR_NO_DEVICE;
  devices_ = std::move(devices);
  return CUDA_SUCCESS;
}

CUresult Driver::init() {
  // Before the lock, which another thread of the parent may have held when this process was forked.
  if (forked_) return CUDA_ERROR_NOT_INITIALIZED;
  {
    const std::lock_guard guard(mutex);
    if (ready_.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
    const CUresult error = open_devices();
    if (error != CUDA_SUCCESS) return error;
    static bool registered = false;
    const auto forked = [] {
      get().forked_ = true;
      for (Device& device : get().devices_) device.shared->abandon();
    };
    if (!registered && pthread_atfork(nullptr, nullptr, forked) != 0) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    registered = true;
    faults.read_environment();
    pid_ = static_cast<uint32_t>(getpid());
    ready_.store(true, std::memory_order_release);
  }
  inject();
  return CUDA_SUCCESS;
}

// A tool that was asked for sees the driver ready, and before the program does.
void Driver::inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (!path || !*path) return;
  void* library = dlopen(path, RTLD_NOW);
  if (!library) return;
  const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialize) initialize();
}

CUresult Driver::create_stream(unsigned int flags, int priority, CUstream* handle) {
  Context* context = current();
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  auto owned = std::make_unique<Stream>();
  owned->context = context;
  owned->id = ++last_stream_;
  owned->flags = flags;
  owned->blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  owned->priority = priority;
  context->streams.insert(owned.get());
  *handle = reinterpret_cast<CUstream>(owned.get());
  streams_.emplace(*handle, std::move(owned));
  return CUDA_SUCCESS;
}

CUresult Driver::destroy_stream(CUstream handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return CUDA_ERROR_INVALID_HANDLE;
  Stream& stream = *found->second;
  Context& context = *stream.context;
  if (stream.capture) stream.capture->broken = true;
  context.gone.join(stream.tail);
  context.gone.settle();
  if (stream.blocking) {
    context.gone_blocking.join(stream.tail);
    context.gone_blocking.settle();
  }
  context.streams.erase(&stream);
  streams_.erase(found);
  return CUDA_SUCCESS;
}

void Driver::set_per_thread_default(bool on) {
  per_thread_default = on;
}

Stream* Driver::stream(CUstream handle, CUresult* error) {
  const bool automatic = handle == nullptr;
  if (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD && !automatic) {
    const auto found = streams_.find(handle);
    if (found != streams_.end()) return found->second.get();
    *error = CUDA_ERROR_INVALID_HANDLE;
    return nullptr;
  }
  Context* context = current();
  if (!context) {
    *error = CUDA_ERROR_INVALID_CONTEXT;
    return nullptr;
  }
  if (handle == CU_STREAM_LEGACY || (automatic && !per_thread_default)) {
    return context->legacy.get();
  }
  Stream*& own = context->per_thread[thread_number()];
  if (!own) {
    CUstream created = nullptr;
    *error = create_stream(CU_STREAM_DEFAULT, 0, &created);
    own = reinterpret_cast<Stream*>(created);
  }
  return own;
}

CUevent Driver::create_event(unsigned int flags) {
  auto owned = std::make_unique<Event>();
  owned->flags = flags;
  const auto handle = reinterpret_cast<CUevent>(owned.get());
  events_.emplace(handle, std::move(owned));
  return handle;
}

bool Driver::destroy_event(CUevent handle) {
  return events_.erase(handle) != 0;
}

Event* Driver::event(CUevent handle) const {
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second.get();
}

CUgraph Driver::add_graph(Graph graph) {
  auto owned = std::make_unique<Graph>(std::move(graph));
  const auto handle = reinterpret_cast<CUgraph>(owned.get());
  graphs_.emplace(handle, std::move(owned));
  return handle;
}

Graph* Driver::graph(CUgraph handle) const {
  const auto found = graphs_.find(handle);
  return found == graphs_.end() ? nullptr : found->second.get();
}

bool Driver::destroy_graph(CUgraph handle) {
  return graphs_.erase(handle) != 0;
}

CUgraphExec Driver::add_exec(const Graph& graph) {
  auto owned = std::make_shared<GraphExec>();
  owned->id = ++last_exec_;
  owned->graph = graph;
  const auto handle = reinterpret_cast<CUgraphExec>(owned.get());
  execs_.emplace(handle, std::move(owned));
  return handle;
}

std::shared_ptr<GraphExec> Driver::exec(CUgraphExec handle) const {
  const auto found = execs_.find(handle);
  return found == execs_.end() ? nullptr : found->second;
}

bool Driver::destroy_exec(CUgraphExec handle) {
  return execs_.erase(handle) != 0;
}

void Driver::forget(const Capture* capture) {
  for (const auto& [handle, stream] : streams_) {
    if (stream->capture.get() != capture) continue;
    stream->tips.clear();
    stream->capture.reset();
  }
}

void Driver::publish_memory(uint32_t device) {
  devices_[device].shared->set_client_bytes(memory.device_bytes(device));
}

}  // namespace gpusim
