// SPDX-License-Identifier: Apache-2.0
// Memory, and what its release waits for.
#include <stdlib.h>
#include <string.h>

#include "contract.h"

enum { kBytes = 1 << 20 };

static void free_waits_for_all_pending_work(void) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t unrelated = new_memory(kBytes);
  launch(stream, kLongMs);
  void* event = mark(stream);
  EXPECT(cuEventQuery(event), kNotReady);
  EXPECT(cuMemFree_v2(unrelated), kSuccess);
  EXPECT(cuEventQuery(event), kSuccess);
}

static void allocation_beside_pending_work(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  const uint64_t memory = new_memory(kBytes);
  note("the work was %s when it returned", answer(cu.cuStreamQuery(stream)));
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemFree_v2(memory));
}

static void allocation_of_pinned_memory_beside_pending_work(void) {
  void* stream = new_stream(kNonBlocking);
  launch(stream, kLongMs);
  void* memory = new_pinned(kBytes);
  note("the work was %s when the allocation returned", answer(cu.cuStreamQuery(stream)));
  MUST(cuMemFreeHost(memory));
  note("and %s when the free returned", answer(cu.cuStreamQuery(stream)));
  MUST(cuStreamSynchronize(stream));
}

static void nothing_allocated_and_nothing_freed(void) {
  unsigned long long pointer = 0;
  EXPECT(cuMemAlloc_v2(&pointer, 0), kInvalidValue);
  EXPECT(cuMemAlloc_v2(NULL, kBytes), kInvalidValue);
  EXPECT(cuMemFree_v2(0), kSuccess);
  expect(cu.cuMemFree_v2(0x1000) != kSuccess, "what was never allocated was freed");
}

static void more_memory_than_there_is_is_an_error(void) {
  unsigned long long pointer = 0;
  const int result = cu.cuMemAlloc_v2(&pointer, (size_t)1 << 50);
  expect(result == 2, "it returned %d", result);
}

static void async_allocation_is_ordered_in_its_stream(void) {
  void* stream = new_stream(kNonBlocking);
  unsigned char* bytes = new_pinned(kBytes);
  unsigned long long memory = 0;
  MUST(cuMemAllocAsync(&memory, kBytes, stream));  // the first may set up a pool
  MUST(cuMemFreeAsync(memory, stream));
  MUST(cuStreamSynchronize(stream));
  launch(stream, kLongMs);
  MUST(cuMemAllocAsync(&memory, kBytes, stream));
  MUST(cuMemsetD8Async(memory, 0x5a, kBytes, stream));
  MUST(cuMemcpyDtoHAsync_v2(bytes, memory, kBytes, stream));
  MUST(cuMemFreeAsync(memory, stream));
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuStreamSynchronize(stream));
  expect(all_bytes(bytes, 0x5a, kBytes), "the bytes did not arrive");
}

static void async_free_does_not_wait(void) {
  void* stream = new_stream(kNonBlocking);
  void* other = new_stream(kNonBlocking);
  unsigned long long memory = 0;
  MUST(cuMemAllocAsync(&memory, kBytes, stream));
  MUST(cuStreamSynchronize(stream));
  launch(stream, kLongMs);
  launch(other, kLongMs);
  EXPECT(cuMemFreeAsync(memory, stream), kSuccess);
  EXPECT(cuStreamQuery(stream), kNotReady);
  EXPECT(cuStreamQuery(other), kNotReady);
  MUST(cuCtxSynchronize());
}

static void registered_memory_is_pinned_memory(void) {
  void* stream = new_stream(kNonBlocking);
  unsigned char* bytes = aligned_alloc(4096, kBytes);
  memset(bytes, 0, kBytes);
  const uint64_t memory = new_memory(kBytes);
  MUST(cuMemHostRegister_v2(bytes, kBytes, 0));
  launch(stream, kLongMs);
  MUST(cuMemsetD8Async(memory, 0x17, kBytes, stream));
  MUST(cuMemcpyDtoHAsync_v2(bytes, memory, kBytes, stream));
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuStreamSynchronize(stream));
  expect(all_bytes(bytes, 0x17, kBytes), "the bytes did not arrive");
  EXPECT(cuMemHostUnregister(bytes), kSuccess);
}

const struct Check kMemoryChecks[] = {
    RULE(free_waits_for_all_pending_work, ""),
    RULE(allocation_beside_pending_work, ""),
    RULE(allocation_of_pinned_memory_beside_pending_work, ""),
    RULE(nothing_allocated_and_nothing_freed, ""),
    RULE(more_memory_than_there_is_is_an_error, ""),
    RULE(async_allocation_is_ordered_in_its_stream, "cuMemAllocAsync cuMemFreeAsync"),
    RULE(async_free_does_not_wait, "cuMemAllocAsync cuMemFreeAsync"),
    RULE(registered_memory_is_pinned_memory, "cuMemHostRegister_v2 cuMemHostUnregister"),
    RULES_END};
