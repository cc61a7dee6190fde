// SPDX-License-Identifier: Apache-2.0
#include "shared_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace gpusim {
namespace {

constexpr int kSpinsBeforeBlocking = 200;
static_assert(kMaxSliceRecords * kPiecesPerRecord <= Pieces::kCapacity);
constexpr int64_t kNsPerSecond = 1'000'000'000;

struct Extent {
  uint32_t first;
  uint32_t last;
};

Extent engines_for(OpKind kind, const DeviceConfig& config) {
  switch (kind) {
    case OpKind::kHostToDevice:
      return {kEngineHostToDevice, kEngineHostToDevice + 1};
    case OpKind::kDeviceToHost:
      return {kEngineDeviceToHost, kEngineDeviceToHost + 1};
    case OpKind::kPeer:
      return {kEnginePeer, kEnginePeer + 1};
    case OpKind::kHost:
    case OpKind::kSlices:
    case OpKind::kKernel:
    case OpKind::kDeviceToDevice:
    case OpKind::kMemset:
      break;
  }
  return {0, config.compute_slots};
}

size_t ring_offset() {
  return (sizeof(DeviceMemory) + 4095) / 4096 * 4096;
}

size_t file_bytes(uint32_t ring_ops) {
  return ring_offset() + ring_ops * sizeof(OpRecord);
}

bool valid(const DeviceConfig& config) {
  return config.compute_slots >= 1 && config.compute_slots <= kMaxComputeSlots &&
         config.ring_ops >= 2 && (config.ring_ops & (config.ring_ops - 1)) == 0;
}

// Open-file-description lock: belongs to the daemon's open file, not to whoever forks from it.
// Clients lock bytes of their own beyond.
struct flock daemon_range() {
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  return range;
}

// The same bus id on each start gives the same device.
void make_uuid(const char* pci_bus_id, uint8_t* uuid) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int i = 0; i < 16; ++i) {
    for (const char* c = pci_bus_id; *c; ++c) {
      hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
    }
    hash = (hash ^ static_cast<uint64_t>(i)) * 0x100000001b3;
    uuid[i] = static_cast<uint8_t>(hash >> 32);
  }
}

// Only the used part: a record is mostly name, and a launch should not write 240 bytes for it.
void copy_name(OpRecord& to, const OpRecord& from) {
  const size_t length = strnlen(from.name, kNameBytes - 1);
  std::memcpy(to.name, from.name, length);
  to.name[length] = '\0';
}

}  // namespace

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

SharedDevice::~SharedDevice() {
  if (memory_) munmap(memory_, bytes_);
  if (fd_ >= 0) close(fd_);
}

bool SharedDevice::map(int fd, size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return false;
  bytes_ = bytes;
  memory_ = static_cast<DeviceMemory*>(at);
  ring_ = reinterpret_cast<OpRecord*>(static_cast<char*>(at) + ring_offset());
  return true;
}

bool SharedDevice::open(const std::string& dir) {
  fd_ = ::open((dir + "/device.shm").c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0) return false;
  struct stat info = {};
  if (fstat(fd_, &info) != 0 || static_cast<size_t>(info.st_size) < sizeof(DeviceMemory) ||
      !alive() || !map(fd_, static_cast<size_t>(info.st_size))) {
    return false;
  }
  return memory_->state.load(std::memory_order_acquire) == DeviceState::kReady &&
         memory_->magic == kMagic && valid(memory_->config) &&
         bytes_ == file_bytes(memory_->config.ring_ops);
}

bool SharedDevice::create(int fd, const DeviceConfig& config) {
  fd_ = fd;
  struct flock range = daemon_range();
  if (!valid(config) || fcntl(fd_, F_OFD_SETLK, &range) != 0) return false;
  const size_t bytes = file_bytes(config.ring_ops);
  if (posix_fallocate(fd_, 0, static_cast<off_t>(bytes)) != 0 || !map(fd_, bytes)) return false;
  new (memory_) DeviceMemory{};
  memory_->magic = kMagic;
  memory_->config = config;
  make_uuid(config.pci_bus_id, memory_->uuid);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int error = pthread_mutex_init(&memory_->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return error == 0;
}

bool SharedDevice::alive() const {
  struct flock range = daemon_range();
  return fcntl(fd_, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

bool SharedDevice::entered(int lock_result) {
  if (lock_result == EOWNERDEAD) {
    rebuild_engines();
    pthread_mutex_consistent(&memory_->lock);
    return true;
  }
  return lock_result == 0;
}

bool SharedDevice::lock() {
  // The owner needs well under a microsecond; a futex wait here would be an edge that a real
  // driver does not have.
  for (int i = 0; i < kSpinsBeforeBlocking; ++i) {
    const int result = pthread_mutex_trylock(&memory_->lock);
    if (result != EBUSY) return entered(result);
  }
  return entered(pthread_mutex_lock(&memory_->lock));
}

bool SharedDevice::lock_within(int64_t timeout_ns) {
  // Not pthread_mutex_clocklock, which a thread sanitizer may not know.
  constexpr useconds_t kLookAgainUs = 100;
  const int64_t until = now_ns() + timeout_ns;
  int result = pthread_mutex_trylock(&memory_->lock);
  for (; result == EBUSY && now_ns() < until; result = pthread_mutex_trylock(&memory_->lock)) {
    usleep(kLookAgainUs);
  }
  return entered(result);
}

void SharedDevice::unlock() {
  pthread_mutex_unlock(&memory_->lock);
}

void SharedDevice::rebuild_engines() {
  for (Timeline& engine : memory_->engines) {
    engine.floor_ns = 0;
    engine.count = 0;
  }
  const int64_t now = now_ns();
  const uint64_t head = memory_->head.load(std::memory_order_relaxed);
  // The slots from `head` on may be half written: an operation that never was.
  const uint64_t kept = std::min<uint64_t>(head, memory_->config.ring_ops - max_records());
  for (uint64_t number = head - kept; number < head; ++number) {
    const OpRecord& op = record(number);
    if (op.engine == kNoEngine || op.slice_records > 0) continue;
    Timeline& engine = memory_->engines[op.engine];
    if (op.kind != OpKind::kSlices) {
      engine.reserve(op.start_ns, op.end_ns, now);
      continue;
    }
    Reservation pieces[kPiecesPerRecord];
    std::memcpy(pieces, op.name, sizeof(pieces));
    for (uint64_t i = 0; i < op.bytes; ++i) {
      engine.reserve(pieces[i].start_ns, pieces[i].end_ns, now);
    }
  }
}

int64_t SharedDevice::copy_duration(const OpRecord& op) const {
  const DeviceConfig& config = memory_->config;
  double rate = config.d2d_bytes_per_ns;
  if (op.kind == OpKind::kHostToDevice) rate = config.h2d_bytes_per_ns;
  if (op.kind == OpKind::kDeviceToHost) rate = config.d2h_bytes_per_ns;
  if (op.kind == OpKind::kPeer) rate = config.p2p_bytes_per_ns;
  return config.copy_latency_ns + static_cast<int64_t>(static_cast<double>(op.bytes) / rate);
}

uint32_t SharedDevice::max_records() const {
  if (memory_->config.time_slice_ns == 0) return 1;
  return 1 + std::min(kMaxSliceRecords, memory_->config.ring_ops / 2 - 1);
}

SharedDevice::Submit SharedDevice::begin() {
  if (!lock()) return Submit::kGone;
  // Under the lock, so that a daemon that stops with the lock held has seen the last operation.
  if (memory_->state.load(std::memory_order_relaxed) != DeviceState::kReady) {
    unlock();
    return Submit::kGone;
  }
  const uint64_t number = memory_->head.load(std::memory_order_relaxed);
  const uint64_t used = number - memory_->tail.load(std::memory_order_acquire);
  if (used + max_records() > memory_->config.ring_ops) {
    unlock();
    return alive() ? Submit::kFull : Submit::kGone;
  }
  return Submit::kOk;
}

TimeShare SharedDevice::share() const {
  TimeShare share = {memory_->config.time_slice_ns, 0, 0};
  if (share.slice_ns == 0 || client_ < 0) return {};
  for (uint32_t slot = 0; slot < kMaxClients; ++slot) {
    if (slot == static_cast<uint32_t>(client_)) share.rank = share.processes;
    if (memory_->client_pids[slot].load(std::memory_order_relaxed) != 0) ++share.processes;
  }
  return share;
}

void SharedDevice::lay_kernel(OpRecord& op, int64_t ready_ns, int64_t kernel_ns,
                              Pieces* pieces) const {
  const TimeShare times = share();
  const Extent choice = engines_for(op.kind, memory_->config);
  const uint32_t most = std::max(1U, (max_records() - 1) * kPiecesPerRecord);
  thread_local Pieces other;
  pieces->count = 0;
  for (uint32_t engine = choice.first; engine < choice.last; ++engine) {
    const Timeline& line = memory_->engines[engine];
    lay(line, ready_ns, kernel_ns, times, most, &other);
    // The clocks of the moment it starts are its clocks to the end.
    if (memory_->config.half_clocks_from_ns <= other.start_ns()) {
      lay(line, ready_ns, 2 * kernel_ns, times, most, &other);
    }
    if (pieces->count > 0 && other.end_ns() >= pieces->end_ns()) continue;
    op.engine = engine;
    pieces->count = other.count;
    std::copy(other.at, other.at + other.count, pieces->at);
  }
}

void SharedDevice::publish(OpRecord& op, const Pieces& pieces) {
  uint64_t number = memory_->head.load(std::memory_order_relaxed);
  const bool sliced = pieces.count > 1;
  const uint32_t records = sliced ? (pieces.count + kPiecesPerRecord - 1) / kPiecesPerRecord : 0;
  op.slice_records = static_cast<uint8_t>(records);
  OpRecord& slot = record(number++);
  std::memcpy(&slot, &op, offsetof(OpRecord, name));
  copy_name(slot, op);
  for (uint32_t i = 0; i < records; ++i) {
    const uint32_t first = i * kPiecesPerRecord;
    const uint32_t count = std::min(kPiecesPerRecord, pieces.count - first);
    OpRecord& more = record(number++);
    std::memcpy(&more, &op, offsetof(OpRecord, name));
    more.kind = OpKind::kSlices;
    more.slice_records = 0;
    more.bytes = count;
    std::memcpy(more.name, pieces.at + first, count * sizeof(Reservation));
  }
  for (uint32_t i = 0; i < pieces.count; ++i) {
    memory_->engines[op.engine].reserve(pieces.at[i].start_ns, pieces.at[i].end_ns, op.api_ns);
  }
  memory_->head.store(number, std::memory_order_release);
}

SharedDevice::Submit SharedDevice::submit(OpRecord& op, int64_t ready_ns, int64_t least_ns) {
  thread_local Pieces pieces;
  const Submit result = begin();
  if (result != Submit::kOk) return result;
  if (op.kind == OpKind::kKernel) {
    lay_kernel(op, ready_ns, least_ns, &pieces);
  } else {
    const int64_t slowest = least_ns > 0 ? memory_->config.copy_latency_ns + least_ns : 0;
    const int64_t duration = std::max(copy_duration(op), slowest);
    const Extent choice = engines_for(op.kind, memory_->config);
    pieces.count = 1;
    op.engine = choice.first;
    op.start_ns = memory_->engines[choice.first].earliest(ready_ns, duration);
    for (uint32_t engine = choice.first + 1; engine < choice.last; ++engine) {
      const int64_t start = memory_->engines[engine].earliest(ready_ns, duration);
      if (start < op.start_ns) {
        op.start_ns = start;
        op.engine = engine;
      }
    }
    pieces.at[0] = {op.start_ns, op.start_ns + duration};
  }
  op.start_ns = pieces.start_ns();
  op.end_ns = pieces.end_ns();
  publish(op, pieces);
  unlock();
  return Submit::kOk;
}

SharedDevice::Submit SharedDevice::add(OpRecord& op) {
  thread_local Pieces none;
  none.count = 0;
  op.engine = kNoEngine;
  const Submit result = begin();
  if (result != Submit::kOk) return result;
  publish(op, none);
  unlock();
  return Submit::kOk;
}

}  // namespace gpusim
