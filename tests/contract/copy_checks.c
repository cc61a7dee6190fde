// SPDX-License-Identifier: Apache-2.0
// When a copy returns, and that its bytes are the right ones.
#include <stdlib.h>
#include <string.h>

#include "contract.h"

enum { kSmall = 1024, kBytes = 1 << 20, kLarge = 8 << 20 };

static unsigned char* new_pageable(size_t bytes, unsigned char value) {
  unsigned char* memory = malloc(bytes);
  must("malloc", memory ? 0 : -1);
  memset(memory, value, bytes);
  return memory;
}

static void pageable_copy_to_the_host_is_done_when_it_returns(void) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t memory = new_memory(kBytes);
  unsigned char* bytes = new_pageable(kBytes, 0);
  launch(stream, kLongMs);
  MUST(cuMemsetD8Async(memory, 0x21, kBytes, stream));
  MUST(cuMemcpyDtoHAsync_v2(bytes, memory, kBytes, stream));
  EXPECT(cuStreamQuery(stream), kSuccess);
  expect(all_bytes(bytes, 0x21, kBytes), "the bytes were not there");
}

static void pinned_copy_to_the_host_returns_before_it_is_done(void) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t memory = new_memory(kBytes);
  unsigned char* bytes = new_pinned(kBytes);
  launch(stream, kLongMs);
  MUST(cuMemsetD8Async(memory, 0x22, kBytes, stream));
  MUST(cuMemcpyDtoHAsync_v2(bytes, memory, kBytes, stream));
  EXPECT(cuStreamQuery(stream), kNotReady);
  note("the bytes are %s at the return", all_bytes(bytes, 0x22, kBytes) ? "there" : "not there");
  MUST(cuStreamSynchronize(stream));
  expect(all_bytes(bytes, 0x22, kBytes), "the bytes did not arrive");
}

static void pinned_copy_to_the_device_returns_before_it_is_done(void) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t memory = new_memory(kBytes);
  unsigned char* bytes = new_pinned(kBytes);
  memset(bytes, 0x23, kBytes);
  launch(stream, kLongMs);
  MUST(cuMemcpyHtoDAsync_v2(memory, bytes, kBytes, stream));
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuStreamSynchronize(stream));
  unsigned char* back = new_pageable(kBytes, 0);
  MUST(cuMemcpyDtoH_v2(back, memory, kBytes));
  expect(all_bytes(back, 0x23, kBytes), "the bytes did not arrive");
}

static void pageable_copy_to_the_device_of(size_t size, const char* name) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t memory = new_memory(size);
  unsigned char* bytes = new_pageable(size, 0x24);
  launch(stream, kLongMs);
  MUST(cuMemcpyHtoDAsync_v2(memory, bytes, size, stream));
  note("%s: the stream is %s at the return", name, answer(cu.cuStreamQuery(stream)));
  memset(bytes, 0xff, size);
  MUST(cuStreamSynchronize(stream));
  MUST(cuMemcpyDtoH_v2(bytes, memory, size));
  expect(all_bytes(bytes, 0x24, size), "%s: what was written after the return arrived", name);
}

static void pageable_copy_to_the_device_has_read_its_source_when_it_returns(void) {
  pageable_copy_to_the_device_of(kSmall, "1 KiB");
  pageable_copy_to_the_device_of(kBytes, "1 MiB");
  pageable_copy_to_the_device_of(kLarge, "8 MiB");
}

static void synchronous_copy_to_the_host_is_done_when_it_returns(void) {
  void* blocking = new_stream(kBlocking);
  const uint64_t memory = new_memory(kBytes);
  unsigned char* bytes = new_pageable(kBytes, 0);
  launch(blocking, kLongMs);
  void* proof = mark(blocking);
  MUST(cuMemsetD8Async(memory, 0x25, kBytes, NULL));
  MUST(cuMemcpyDtoH_v2(bytes, memory, kBytes));
  EXPECT(cuEventQuery(proof), kSuccess);
  EXPECT(cuStreamQuery(NULL), kSuccess);
  expect(all_bytes(bytes, 0x25, kBytes), "the bytes were not there");
}

static void synchronous_copy_does_not_wait_for_non_blocking_streams(void) {
  void* apart = new_stream(kNonBlocking);
  const uint64_t memory = new_memory(kBytes);
  unsigned char* bytes = new_pageable(kBytes, 0);
  launch(apart, 3 * kLongMs);
  MUST(cuMemcpyDtoH_v2(bytes, memory, kBytes));
  EXPECT(cuStreamQuery(apart), kNotReady);
}

static void synchronous_copy_to_the_device_of(size_t size, const char* name) {
  const uint64_t memory = new_memory(size);
  unsigned char* bytes = new_pageable(size, 0x26);
  launch(NULL, kLongMs);
  void* before = mark(NULL);
  MUST(cuMemcpyHtoD_v2(memory, bytes, size));
  note("%s: the work before it is %s, the legacy stream %s", name, answer(cu.cuEventQuery(before)),
       answer(cu.cuStreamQuery(NULL)));
  memset(bytes, 0xff, size);
  MUST(cuMemcpyDtoH_v2(bytes, memory, size));
  expect(all_bytes(bytes, 0x26, size), "%s: other bytes arrived", name);
}

static void synchronous_copy_to_the_device_has_read_its_source_when_it_returns(void) {
  synchronous_copy_to_the_device_of(kSmall, "1 KiB");
  synchronous_copy_to_the_device_of(kBytes, "1 MiB");
  synchronous_copy_to_the_device_of(kLarge, "8 MiB");
}

static void copy_on_the_device_returns_before_it_is_done(void) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t from = new_memory(kBytes), to = new_memory(kBytes);
  unsigned char* bytes = new_pinned(kBytes);
  launch(stream, kLongMs);
  MUST(cuMemsetD8Async(from, 0x27, kBytes, stream));
  MUST(cuMemcpyDtoDAsync_v2(to, from, kBytes, stream));
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuMemcpyDtoHAsync_v2(bytes, to, kBytes, stream));
  MUST(cuStreamSynchronize(stream));
  expect(all_bytes(bytes, 0x27, kBytes), "the bytes did not arrive");
}

static void synchronous_copy_on_the_device(void) {
  const uint64_t from = new_memory(kBytes), to = new_memory(kBytes);
  launch(NULL, kLongMs);
  MUST(cuMemcpyDtoD_v2(to, from, kBytes));
  note("the legacy stream is %s at the return", answer(cu.cuStreamQuery(NULL)));
  MUST(cuCtxSynchronize());
}

static void synchronous_memset(void) {
  const uint64_t memory = new_memory(kBytes);
  launch(NULL, kLongMs);
  MUST(cuMemsetD8_v2(memory, 1, kBytes));
  note("the legacy stream is %s at the return", answer(cu.cuStreamQuery(NULL)));
  MUST(cuCtxSynchronize());
}

static void copies_of_one_stream_are_in_order(void) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t memory = new_memory(kBytes);
  unsigned char* first = new_pinned(kBytes);
  unsigned char* second = new_pinned(kBytes);
  launch(stream, kShortMs);
  MUST(cuMemsetD8Async(memory, 0x31, kBytes, stream));
  MUST(cuMemcpyDtoHAsync_v2(first, memory, kBytes, stream));
  MUST(cuMemsetD8Async(memory, 0x32, kBytes, stream));
  MUST(cuMemcpyDtoHAsync_v2(second, memory, kBytes, stream));
  MUST(cuStreamSynchronize(stream));
  expect(all_bytes(first, 0x31, kBytes), "the first copy has other bytes");
  expect(all_bytes(second, 0x32, kBytes), "the second copy has other bytes");
}

static void copy_of_any_direction_finds_it_out_by_the_addresses(void) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t memory = new_memory(kBytes);
  unsigned char* from = new_pinned(kBytes);
  unsigned char* pageable = new_pageable(kBytes, 0);
  memset(from, 0x33, kBytes);
  launch(stream, kLongMs);
  MUST(cuMemcpyAsync(memory, (uintptr_t)from, kBytes, stream));
  EXPECT(cuStreamQuery(stream), kNotReady);
  MUST(cuMemcpyAsync((uintptr_t)pageable, memory, kBytes, stream));
  EXPECT(cuStreamQuery(stream), kSuccess);
  expect(all_bytes(pageable, 0x33, kBytes), "the bytes did not arrive");
}

static void copy_of_no_bytes_does_nothing(void) {
  void* stream = new_stream(kNonBlocking);
  const uint64_t memory = new_memory(kBytes);
  unsigned char* bytes = new_pageable(kBytes, 0);
  launch(stream, kLongMs);
  EXPECT(cuMemcpyDtoHAsync_v2(bytes, memory, 0, stream), kSuccess);
  note("the stream is %s at the return", answer(cu.cuStreamQuery(stream)));
  MUST(cuStreamSynchronize(stream));
}

static void copy_between_wrong_addresses_is_an_error(void) {
  unsigned char* bytes = new_pageable(kSmall, 0);
  EXPECT(cuMemcpyHtoD_v2(0, bytes, kSmall), kInvalidValue);
  EXPECT(cuMemcpyDtoH_v2(bytes, 0, kSmall), kInvalidValue);
  EXPECT(cuCtxSynchronize(), kSuccess);
}

const struct Check kCopyChecks[] = {
    RULE(pageable_copy_to_the_host_is_done_when_it_returns, ""),
    RULE(pinned_copy_to_the_host_returns_before_it_is_done, ""),
    RULE(pinned_copy_to_the_device_returns_before_it_is_done, ""),
    RULE(pageable_copy_to_the_device_has_read_its_source_when_it_returns, ""),
    RULE(synchronous_copy_to_the_host_is_done_when_it_returns, ""),
    RULE(synchronous_copy_does_not_wait_for_non_blocking_streams, ""),
    RULE(synchronous_copy_to_the_device_has_read_its_source_when_it_returns, ""),
    RULE(copy_on_the_device_returns_before_it_is_done, "cuMemcpyDtoDAsync_v2"),
    RULE(synchronous_copy_on_the_device, "cuMemcpyDtoD_v2"),
    RULE(synchronous_memset, "cuMemsetD8_v2"),
    RULE(copies_of_one_stream_are_in_order, ""),
    RULE(copy_of_any_direction_finds_it_out_by_the_addresses, "cuMemcpyAsync"),
    RULE(copy_of_no_bytes_does_nothing, ""),
    RULE(copy_between_wrong_addresses_is_an_error, ""),
    RULES_END};
