// SPDX-License-Identifier: Apache-2.0
// The table of clients that hold a context. A slot belongs to whoever locks its byte of the
// device's file; the lock goes with the process, however it ends, and no pid namespace is in the
// way.
#include <fcntl.h>
#include <unistd.h>

#include "shared_device.h"

namespace gpusim {
namespace {

struct flock slot_range(uint32_t slot, short type) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = (off_t{1} << 40) + slot;
  range.l_len = 1;
  return range;
}

}  // namespace

bool SharedDevice::enter() {
  if (client_ >= 0) return true;
  for (uint32_t slot = 0; slot < kMaxClients; ++slot) {
    struct flock range = slot_range(slot, F_WRLCK);
    if (fcntl(fd_, F_OFD_SETLK, &range) != 0) continue;
    client_ = static_cast<int>(slot);
    memory_->client_bytes[slot].store(0, std::memory_order_relaxed);
    memory_->client_pids[slot].store(static_cast<uint32_t>(getpid()), std::memory_order_release);
    return true;
  }
  return false;
}

void SharedDevice::leave() {
  if (client_ < 0) return;
  const auto slot = static_cast<uint32_t>(client_);
  client_ = -1;
  memory_->client_pids[slot].store(0, std::memory_order_release);
  memory_->client_bytes[slot].store(0, std::memory_order_relaxed);
  struct flock range = slot_range(slot, F_UNLCK);
  fcntl(fd_, F_OFD_SETLK, &range);
}

void SharedDevice::set_client_bytes(uint64_t bytes) {
  if (client_ >= 0) memory_->client_bytes[client_].store(bytes, std::memory_order_relaxed);
}

void SharedDevice::sweep_clients() {
  for (uint32_t slot = 0; slot < kMaxClients; ++slot) {
    uint32_t pid = memory_->client_pids[slot].load(std::memory_order_acquire);
    if (pid == 0) continue;
    struct flock range = slot_range(slot, F_WRLCK);
    if (fcntl(fd_, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK) continue;
    // Another process may have taken the slot since; it has put its own pid there.
    if (memory_->client_pids[slot].compare_exchange_strong(pid, 0)) {
      memory_->client_bytes[slot].store(0, std::memory_order_relaxed);
    }
  }
}

void SharedDevice::abandon() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  client_ = -1;
}

}  // namespace gpusim
