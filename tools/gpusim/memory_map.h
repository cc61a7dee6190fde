// SPDX-License-Identifier: Apache-2.0
// Device and pinned host allocations. Device memory is memory of this process, so copies move
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>

namespace gpusim {

class MemoryMap {
 public:
  void* allocate_device(size_t bytes, uint64_t limit);
  void* allocate_pinned(size_t bytes);
  bool free_device(void* pointer);
  bool free_pinned(void* pointer);
  bool device_range(const void* pointer, size_t bytes) const;
  bool pinned_range(const void* pointer, size_t bytes) const;

 private:
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };
  struct Block {
    std::unique_ptr<void, Free> memory;
    size_t bytes;
  };
  using Blocks = std::map<uintptr_t, Block>;

  static void* allocate(Blocks& blocks, size_t alignment, size_t bytes);
  static bool contains(const Blocks& blocks, const void* pointer, size_t bytes);

  Blocks device_;
  Blocks pinned_;
  uint64_t device_bytes_ = 0;
};

}  // namespace gpusim
