// SPDX-License-Identifier: Apache-2.0
// Address ranges and physical memory apart: reserve, create, map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "cuda_abi.h"
#include "memory_map.h"

namespace gpusim {

constexpr size_t kMappingGranularity = size_t{2} << 20;

class VirtualMemory {
 public:
  CUresult reserve(size_t bytes, uintptr_t wanted, uintptr_t* base);
  CUresult free(uintptr_t base, size_t bytes);
  CUresult create(size_t bytes, uint32_t device, uint64_t limit, MemoryMap& memory,
                  CUmemGenericAllocationHandle* handle);
  CUresult release(CUmemGenericAllocationHandle handle, MemoryMap& memory);
  CUresult map(uintptr_t base, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
               MemoryMap& memory);
  CUresult unmap(uintptr_t base, size_t bytes, MemoryMap& memory);
  CUresult set_access(uintptr_t base, size_t bytes, bool writable, const MemoryMap& memory);

 private:
  // Lives until it is released and no longer mapped.
  struct Physical {
    int fd;
    size_t bytes;
    uint32_t device;
    unsigned int mappings;
    bool released;
  };
  using Handles = std::unordered_map<CUmemGenericAllocationHandle, Physical>;

  bool reserved(uintptr_t base, size_t bytes) const;
  void drop_if_unused(Handles::iterator physical, MemoryMap& memory);

  std::map<uintptr_t, size_t> ranges_;
  Handles physical_;
  struct Mapping {
    size_t bytes;
    CUmemGenericAllocationHandle handle;
  };
  std::map<uintptr_t, Mapping> mappings_;
  CUmemGenericAllocationHandle last_ = 0;
};

}  // namespace gpusim
