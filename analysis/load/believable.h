// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "abi/events.h"
#include "model/recording.h"

namespace whystall::load {

/// Copies a record whose tail may be missing (older writer) or longer than known (newer writer)
/// over `record`.
template <typename Record>
void copy_record(Record& record, std::span<const std::byte> bytes) {
  if (bytes.size() >= sizeof(Record)) {  // most are; of a size that the compiler knows
    std::memcpy(static_cast<void*>(&record), bytes.data(), sizeof record);
    return;
  }
  record = {};
  std::memcpy(static_cast<void*>(&record), bytes.data(), bytes.size());
}

template <typename Record>
Record copy_record(std::span<const std::byte> bytes) {
  Record record;
  copy_record(record, bytes);
  return record;
}

/// Later than any monotonic clock gets, and far from where sums of times overflow.
constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 60;

inline std::uint8_t kind_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint8_t>(bytes[offsetof(wst_hdr, kind)]);
}

inline model::TimeNs time_of(std::span<const std::byte> bytes) {
  model::TimeNs at = 0;
  std::memcpy(&at, bytes.data() + offsetof(wst_hdr, ts), sizeof at);
  return at;
}

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

/// What a record must have: all of it, but what was added behind since format 1.0.
template <typename Record>
constexpr std::size_t kLeastBytes = sizeof(Record);
template <>
inline constexpr std::size_t kLeastBytes<wst_task> = 56;
template <>
inline constexpr std::size_t kLeastBytes<wst_wait> = 144;
template <>
inline constexpr std::size_t kLeastBytes<wst_api> = 56;
template <>
inline constexpr std::size_t kLeastBytes<wst_sample> = 40;

/// Copies it into `record`, whatever that held. False: it is too short for what it must hold, or
/// its times cannot be; then `record` means nothing.
template <typename Record>
bool read_record(Record& record, std::span<const std::byte> bytes) {
  if (bytes.size() < kLeastBytes<Record>) return false;
  copy_record(record, bytes);
  return believable(record);
}

/// The same of sums, whose entries follow their head; what the entries took before is used again.
inline bool read_sums(model::Sums& sums, std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wst_sums)) return false;
  std::memcpy(static_cast<void*>(&sums.head), bytes.data(), sizeof sums.head);
  const auto entries = bytes.subspan(sizeof sums.head);
  if (!believable(sums.head.h.ts, sums.head.from_ns) || sums.head.count > WST_MAX_SUMS ||
      entries.size() < sums.head.count * sizeof(wst_sum))
    return false;
  sums.entries.resize(sums.head.count);
  if (sums.entries.empty()) return true;
  std::memcpy(static_cast<void*>(sums.entries.data()), entries.data(),
              sums.entries.size() * sizeof(wst_sum));
  return std::all_of(sums.entries.begin(), sums.entries.end(),
                     [](const wst_sum& sum) { return believable(sum); });
}

template <typename Record>
bool fits(std::span<const std::byte> bytes) {
  Record record;
  return read_record(record, bytes);
}

inline bool sums_fit(std::span<const std::byte> bytes) {
  model::Sums sums;
  return read_sums(sums, bytes);
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
      return fits<wst_task>(bytes);
    case WST_WAIT:
      return fits<wst_wait>(bytes);
    case WST_SLICE:
      return fits<wst_slice>(bytes);
    case WST_FILE:
      return file_fits(bytes);
    case WST_API:
      return fits<wst_api>(bytes);
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
      return fits<wst_sample>(bytes);
    default:
      return true;
  }
}

}  // namespace whystall::load
