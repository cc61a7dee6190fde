// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>

namespace gpusim {
namespace {

bool granular(uint64_t value) {
  return value % kMappingGranularity == 0;
}

void* at(uintptr_t base) {
  return reinterpret_cast<void*>(base);
}

}  // namespace

CUresult VirtualMemory::reserve(size_t bytes, uintptr_t wanted, uintptr_t* base) {
  if (bytes == 0 || !granular(bytes) || bytes > SIZE_MAX / 2) return CUDA_ERROR_INVALID_VALUE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  // More than asked for, to cut an aligned range out of it.
  const size_t more = bytes + kMappingGranularity;
  void* memory = mmap(at(wanted), more, PROT_NONE, kFlags, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto first = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t aligned =
      (first + kMappingGranularity - 1) / kMappingGranularity * kMappingGranularity;
  if (aligned > first) munmap(memory, aligned - first);
  munmap(at(aligned + bytes), first + more - (aligned + bytes));
  ranges_.emplace(aligned, bytes);
  *base = aligned;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::free(uintptr_t base, size_t bytes) {
  const auto range = ranges_.find(base);
  if (range == ranges_.end() || range->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapped = mappings_.lower_bound(base);
  if (mapped != mappings_.end() && mapped->first < base + bytes) return CUDA_ERROR_INVALID_VALUE;
  munmap(at(base), bytes);
  ranges_.erase(range);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::create(size_t bytes, uint32_t device, uint64_t limit, MemoryMap& memory,
                               CUmemGenericAllocationHandle* handle) {
  if (bytes == 0 || !granular(bytes)) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t used = memory.device_bytes(device);
  if (bytes > limit || used > limit - bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  const int fd = memfd_create("gpusim-memory", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    if (fd >= 0) close(fd);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  memory.count_physical(device, static_cast<int64_t>(bytes));
  *handle = ++last_;
  physical_.emplace(*handle, Physical{fd, bytes, device, 0, false});
  return CUDA_SUCCESS;
}

void VirtualMemory::drop_if_unused(Handles::iterator physical, MemoryMap& memory) {
  const Physical& old = physical->second;
  if (!old.released || old.mappings > 0) return;
  memory.count_physical(old.device, -static_cast<int64_t>(old.bytes));
  close(old.fd);
  physical_.erase(physical);
}

CUresult VirtualMemory::release(CUmemGenericAllocationHandle handle, MemoryMap& memory) {
  const auto found = physical_.find(handle);
  if (found == physical_.end() || found->second.released) return CUDA_ERROR_INVALID_VALUE;
  found->second.released = true;
  drop_if_unused(found, memory);
  return CUDA_SUCCESS;
}

bool VirtualMemory::reserved(uintptr_t base, size_t bytes) const {
  auto range = ranges_.upper_bound(base);
  if (range == ranges_.begin()) return false;
  range = std::prev(range);
  const size_t offset = base - range->first;
  return offset <= range->second && bytes <= range->second - offset;
}

CUresult VirtualMemory::map(uintptr_t base, size_t bytes, size_t offset,
                            CUmemGenericAllocationHandle handle, MemoryMap& memory) {
  const auto found = physical_.find(handle);
  if (found == physical_.end() || found->second.released || !granular(base) || !granular(bytes) ||
      !granular(offset) || bytes == 0 || offset > found->second.bytes ||
      bytes > found->second.bytes - offset || !reserved(base, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Physical& physical = found->second;
  const MemoryBlock block = {base, bytes, MemoryKind::kMapped, physical.device, 0};
  if (!memory.add(block)) return CUDA_ERROR_INVALID_VALUE;
  // Not to be touched before access was set, as with the real driver.
  if (mmap(at(base), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical.fd,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    memory.unmap(base, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  mappings_[base] = {bytes, handle};
  ++physical.mappings;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::unmap(uintptr_t base, size_t bytes, MemoryMap& memory) {
  // Whole mappings only, and the range must consist of them.
  uintptr_t next = base;
  auto mapping = mappings_.find(base);
  while (mapping != mappings_.end() && mapping->first == next && next < base + bytes) {
    next += mapping->second.bytes;
    ++mapping;
  }
  if (bytes == 0 || next != base + bytes) return CUDA_ERROR_INVALID_VALUE;
  mmap(at(base), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  memory.unmap(base, bytes);
  for (mapping = mappings_.find(base); mapping != mappings_.end() && mapping->first < next;) {
    const auto physical = physical_.find(mapping->second.handle);
    --physical->second.mappings;
    drop_if_unused(physical, memory);
    mapping = mappings_.erase(mapping);
  }
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::set_access(uintptr_t base, size_t bytes, bool writable,
                                   const MemoryMap& memory) {
  for (uintptr_t next = base; next < base + bytes;) {
    const MemoryBlock* block = memory.find(at(next), 1);
    if (!block || block->kind != MemoryKind::kMapped) return CUDA_ERROR_INVALID_VALUE;
    next = block->base + block->bytes;
  }
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_NONE;
  return mprotect(at(base), bytes, protection) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace gpusim
