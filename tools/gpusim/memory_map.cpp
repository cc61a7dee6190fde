// SPDX-License-Identifier: Apache-2.0
#include "memory_map.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "shared_device.h"

namespace gpusim {
namespace {

bool counted(MemoryKind kind) {
  return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged;
}

bool owned(MemoryKind kind) {
  return counted(kind) || kind == MemoryKind::kPinned;
}

}  // namespace

MemoryMap::~MemoryMap() {
  while (!blocks_.empty()) forget(blocks_.begin());
}

uint64_t& MemoryMap::used(uint32_t device) {
  if (device >= used_.size()) used_.resize(device + 1);
  return used_[device];
}

uint64_t MemoryMap::device_bytes(uint32_t device) const {
  return device < used_.size() ? used_[device] : 0;
}

void MemoryMap::count_physical(uint32_t device, int64_t bytes) {
  used(device) += static_cast<uint64_t>(bytes);
}

void MemoryMap::collect_returned() {
  const int64_t now = now_ns();
  std::erase_if(returned_, [&](Returned& returned) {
    if (!returned.end.reached(now)) return false;
    used(returned.device) -= returned.bytes;
    return true;
  });
}

void* MemoryMap::allocate(MemoryKind kind, size_t bytes, uint64_t limit, uint32_t device,
                          uint32_t context) {
  collect_returned();
  if (counted(kind) && (bytes > limit || used(device) > limit - bytes)) return nullptr;
  const size_t alignment = counted(kind) ? 512 : 4096;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = rounded < bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (!memory) return nullptr;
  const auto base = reinterpret_cast<uintptr_t>(memory);
  blocks_.emplace(base, MemoryBlock{base, bytes, kind, device, context});
  if (counted(kind)) used(device) += bytes;
  return memory;
}

void* MemoryMap::allocate_async(size_t bytes, uint64_t limit, uint32_t device, uint32_t context,
                                When* after) {
  collect_returned();
  for (auto next = returned_.begin(); next != returned_.end();) {
    const bool enough = bytes <= limit && used(device) <= limit - bytes;
    if (enough) break;
    if (next->device != device) {
      ++next;
      continue;
    }
    after->join(next->end);
    used(device) -= next->bytes;
    next = returned_.erase(next);
  }
  return allocate(MemoryKind::kDevice, bytes, limit, device, context);
}

bool MemoryMap::add(const MemoryBlock& block) {
  const auto after = blocks_.lower_bound(block.base);
  if (after != blocks_.end() && after->first < block.base + block.bytes) return false;
  if (after != blocks_.begin()) {
    const MemoryBlock& before = std::prev(after)->second;
    if (before.base + before.bytes > block.base) return false;
  }
  blocks_.emplace(block.base, block);
  return true;
}

void MemoryMap::forget(std::map<uintptr_t, MemoryBlock>::iterator block) {
  const MemoryBlock& old = block->second;
  if (counted(old.kind)) used(old.device) -= old.bytes;
  if (owned(old.kind)) std::free(reinterpret_cast<void*>(old.base));
  blocks_.erase(block);
}

bool MemoryMap::release(const void* pointer, MemoryKind kind, MemoryKind other) {
  const auto block = blocks_.find(reinterpret_cast<uintptr_t>(pointer));
  if (block == blocks_.end()) return false;
  if (block->second.kind != kind && block->second.kind != other) return false;
  forget(block);
  return true;
}

bool MemoryMap::free_async(const void* pointer, const When& end) {
  const auto block = blocks_.find(reinterpret_cast<uintptr_t>(pointer));
  if (block == blocks_.end() || block->second.kind != MemoryKind::kDevice) return false;
  const MemoryBlock old = block->second;
  // The bytes of every copy made so far have moved; only the account has to wait.
  forget(block);
  used(old.device) += old.bytes;
  returned_.push_back({end, old.bytes, old.device});
  return true;
}

void MemoryMap::release_context(uint32_t context) {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const auto next = std::next(block);
    if (block->second.context == context && owned(block->second.kind)) forget(block);
    block = next;
  }
}

void MemoryMap::unmap(uintptr_t base, size_t bytes) {
  auto block = blocks_.lower_bound(base);
  while (block != blocks_.end() && block->first < base + bytes) {
    const auto next = std::next(block);
    if (block->second.kind == MemoryKind::kMapped) forget(block);
    block = next;
  }
}

const MemoryBlock* MemoryMap::find(const void* pointer, size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(pointer);
  auto block = blocks_.upper_bound(at);
  if (block == blocks_.begin()) return nullptr;
  block = std::prev(block);
  const size_t offset = at - block->first;
  const size_t whole = block->second.bytes;
  return offset <= whole && bytes <= whole - offset ? &block->second : nullptr;
}

}  // namespace gpusim
