// SPDX-License-Identifier: Apache-2.0
#include "memory_map.h"

#include <iterator>

namespace gpusim {

void* MemoryMap::allocate(Blocks& blocks, size_t alignment, size_t bytes) {
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (rounded < bytes) return nullptr;
  std::unique_ptr<void, Free> memory(std::aligned_alloc(alignment, rounded));
  if (!memory) return nullptr;
  void* pointer = memory.get();
  blocks.emplace(reinterpret_cast<uintptr_t>(pointer), Block{std::move(memory), bytes});
  return pointer;
}

bool MemoryMap::contains(const Blocks& blocks, const void* pointer, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  auto block = blocks.upper_bound(at);
  if (block == blocks.begin()) return false;
  block = std::prev(block);
  const size_t offset = at - block->first;
  return offset <= block->second.bytes && bytes <= block->second.bytes - offset;
}

void* MemoryMap::allocate_device(size_t bytes, uint64_t limit) {
  if (bytes > limit || device_bytes_ > limit - bytes) return nullptr;
  void* pointer = allocate(device_, 512, bytes);
  if (pointer) device_bytes_ += bytes;
  return pointer;
}

void* MemoryMap::allocate_pinned(size_t bytes) {
  return allocate(pinned_, 4096, bytes);
}

bool MemoryMap::free_device(void* pointer) {
  const auto block = device_.find(reinterpret_cast<uintptr_t>(pointer));
  if (block == device_.end()) return false;
  device_bytes_ -= block->second.bytes;
  device_.erase(block);
  return true;
}

bool MemoryMap::free_pinned(void* pointer) {
  return pinned_.erase(reinterpret_cast<uintptr_t>(pointer)) != 0;
}

bool MemoryMap::device_range(const void* pointer, size_t bytes) const {
  return contains(device_, pointer, bytes);
}

bool MemoryMap::pinned_range(const void* pointer, size_t bytes) const {
  return contains(pinned_, pointer, bytes);
}

}  // namespace gpusim
