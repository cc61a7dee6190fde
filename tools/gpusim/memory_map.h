// SPDX-License-Identifier: Apache-2.0
// The memory that the driver knows: of devices, managed, and page-locked host memory. All of it is
// memory of this process, so copies move bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "when.h"

namespace gpusim {

enum class MemoryKind : uint8_t { kDevice, kManaged, kPinned, kRegistered, kMapped };

struct MemoryBlock {
  uintptr_t base;
  size_t bytes;
  MemoryKind kind;
  uint32_t device;
  uint32_t context;  // id of the one it was made in

  bool on_device() const {
    return kind == MemoryKind::kDevice || kind == MemoryKind::kManaged ||
           kind == MemoryKind::kMapped;
  }
};

class MemoryMap {
 public:
  MemoryMap() = default;
  ~MemoryMap();
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;

  // Device and managed memory counts against the `limit` of its device. Null: none left.
  void* allocate(MemoryKind kind, size_t bytes, uint64_t limit, uint32_t device, uint32_t context);
  // As allocate(), in stream order: may take what free_async() gave back, once `after` is over.
  void* allocate_async(size_t bytes, uint64_t limit, uint32_t device, uint32_t context,
                       When* after);
  // Enters memory that another owner keeps: registered, or mapped by the program.
  bool add(const MemoryBlock& block);
  // True: there was such a block, of one of these kinds.
  bool release(const void* pointer, MemoryKind kind, MemoryKind other);
  bool free_async(const void* pointer, const When& end);
  void release_context(uint32_t context);
  // Takes mapped blocks within the range out.
  void unmap(uintptr_t base, size_t bytes);

  // The block that holds all of these bytes.
  const MemoryBlock* find(const void* pointer, size_t bytes) const;
  uint64_t device_bytes(uint32_t device) const;

  // Physical memory for mapping counts as well.
  void count_physical(uint32_t device, int64_t bytes);

 private:
  struct Returned {
    When end;
    uint64_t bytes;
    uint32_t device;
  };

  void forget(std::map<uintptr_t, MemoryBlock>::iterator block);
  uint64_t& used(uint32_t device);
  void collect_returned();

  std::map<uintptr_t, MemoryBlock> blocks_;
  std::vector<uint64_t> used_;
  std::vector<Returned> returned_;  // still counted in `used_`
};

}  // namespace gpusim
