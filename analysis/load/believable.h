// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "abi/events.h"

namespace whystall::load {

/// Copies a record whose tail may be missing (older writer) or longer than known (newer writer).
template <typename Record>
Record copy_record(std::span<const std::byte> bytes) {
  if (bytes.size() >= sizeof(Record)) {  // most are; of a size that the compiler knows
    Record record;
    std::memcpy(static_cast<void*>(&record), bytes.data(), sizeof record);
    return record;
  }
  Record record{};
  std::memcpy(static_cast<void*>(&record), bytes.data(), bytes.size());
  return record;
}

/// Later than any monotonic clock gets, and far from where sums of times overflow.
constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 60;

template <typename... Times>
bool believable(Times... times) {
  return ((static_cast<std::uint64_t>(times) <= kMaxTime) && ...);
}

inline bool believable(const wst_task&) {
  return true;
}
inline bool believable(const wst_wait& r) {
  return believable(r.h.ts, r.ran_ns, r.out_ns, r.wake_ns);
}
inline bool believable(const wst_slice& r) {
  return believable(r.h.ts, r.start_ns);
}
inline bool believable(const wst_api& r) {
  return believable(r.h.ts, r.entry_ns, r.last_ns);
}
inline bool believable(const wst_loss& r) {
  return believable(r.h.ts, r.first_ns, r.last_ns);
}
inline bool believable(const wst_sum& r) {
  return believable(r.first_ns, r.out_ns, r.wake_ns, r.in_ns, r.blocked_ns, r.runnable_ns);
}
inline bool believable(const wst_migrate& r) {
  return believable(r.h.ts);
}
inline bool believable(const wst_pollset& r) {
  return believable(r.h.ts, r.out_ns) && r.count <= WST_MAX_POLLED;
}
inline bool believable(const wst_end& r) {
  return believable(r.h.ts);
}
inline bool believable(const wst_sample& r) {
  return believable(r.h.ts);
}

/// What these records had in format 1.0; fields were added behind.
constexpr std::size_t kFirstTaskBytes = 56;
constexpr std::size_t kFirstWaitBytes = 144;
constexpr std::size_t kFirstApiBytes = 56;
constexpr std::size_t kFirstSampleBytes = 40;

template <typename Record>
bool fits(std::span<const std::byte> bytes, std::size_t least = sizeof(Record)) {
  return bytes.size() >= least && believable(copy_record<Record>(bytes));
}

inline bool sums_fit(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wst_sums)) return false;
  const auto head = copy_record<wst_sums>(bytes);
  const auto entries = bytes.subspan(sizeof head);
  if (!believable(head.h.ts, head.from_ns) || head.count > WST_MAX_SUMS ||
      entries.size() < head.count * sizeof(wst_sum))
    return false;
  for (std::size_t i = 0; i < head.count; i++) {
    if (!believable(copy_record<wst_sum>(entries.subspan(i * sizeof(wst_sum))))) return false;
  }
  return true;
}

inline bool file_fits(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wst_file)) return false;
  const auto length = copy_record<wst_file>(bytes).path_len;
  return length <= bytes.size() - sizeof(wst_file) && length <= WST_PATH_MAX;
}

/// False: the record's kind is known, but it is too short for what it must hold, or its times
/// cannot be.
inline bool fits(std::uint8_t kind, std::span<const std::byte> bytes) {
  switch (kind) {
    case WST_TASK:
      return fits<wst_task>(bytes, kFirstTaskBytes);
    case WST_WAIT:
      return fits<wst_wait>(bytes, kFirstWaitBytes);
    case WST_SLICE:
      return fits<wst_slice>(bytes);
    case WST_FILE:
      return file_fits(bytes);
    case WST_API:
      return fits<wst_api>(bytes, kFirstApiBytes);
    case WST_LOSS:
      return fits<wst_loss>(bytes);
    case WST_SUMS:
      return sums_fit(bytes);
    case WST_MIGRATE:
      return fits<wst_migrate>(bytes);
    case WST_POLLSET:
      return fits<wst_pollset>(bytes);
    case WST_END:
      return fits<wst_end>(bytes);
    case WST_SAMPLE:
      return fits<wst_sample>(bytes, kFirstSampleBytes);
    default:
      return true;
  }
}

}  // namespace whystall::load
