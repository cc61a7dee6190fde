// SPDX-License-Identifier: Apache-2.0
#include "recording/identities.h"

#include <algorithm>
#include <cstring>

#include "abi/events.h"

namespace whystall::recording {

namespace {

/// Nothing that the kernel emits is longer; what is, is not repeated.
constexpr std::size_t kMaxRecordBytes = 4096;
/// What the map takes for each record beside its bytes.
constexpr std::size_t kOverheadBytes = 120;

template <typename Record>
bool copy(std::span<const std::byte> bytes, Record& to) {
  if (bytes.size() < sizeof to) return false;
  std::memcpy(static_cast<void*>(&to), bytes.data(), sizeof to);
  return true;
}

}  // namespace

std::span<const std::span<const std::byte>> Identities::missing_for(
    std::span<const std::byte> record) {
  missing_.clear();
  wst_hdr header{};
  if (!copy(record, header)) return missing_;
  switch (header.kind) {
    case WST_TASK:
      if (wst_task r; copy(record, r)) keep({r.tid, 0, 0, Kind::kTask}, record);
      break;
    case WST_FILE:
      if (wst_file r; copy(record, r)) keep({r.ino, r.dev, r.generation, Kind::kFile}, record);
      break;
    case WST_WAIT:
      if (wst_wait r; copy(record, r)) {
        refer_to_task(r.tid);
        if (r.tgid != r.tid) refer_to_task(r.tgid);
        refer_to_task(r.waker_tid);
        if (r.waker_tgid != r.waker_tid) refer_to_task(r.waker_tgid);
        if (r.ino) refer_to({r.ino, r.dev, r.generation, Kind::kFile});
      }
      break;
    case WST_SLICE:
      if (wst_slice r; copy(record, r)) {
        refer_to_task(r.tid);
        if (r.tgid != r.tid) refer_to_task(r.tgid);
      }
      break;
    case WST_SUMS:
      if (wst_sums r; copy(record, r)) {
        refer_to_task(r.tid);
        if (r.tgid != r.tid) refer_to_task(r.tgid);
        refer_to_wakers(record.subspan(sizeof r), r.count);
      }
      break;
    case WST_API:
      if (wst_api r; copy(record, r)) {
        const Key context{r.tid, 0, 0, Kind::kContext};
        // First: it may forget some, and what is missing is told by reference.
        if (r.call == WST_API_CONTEXT || r.call == WST_API_CONTEXT_NEW)
          keep(context, record);
        else
          refer_to(context);
        refer_to_task(r.tid);
        if (r.tgid != r.tid) refer_to_task(r.tgid);
      }
      break;
    default:
      break;
  }
  return missing_;
}

void Identities::keep(const Key& key, std::span<const std::byte> record) {
  if (record.size() > kMaxRecordBytes) return;
  if (bytes_ + record.size() + kOverheadBytes > max_bytes_) forget_half();
  const auto [it, added] = known_.try_emplace(key);
  bytes_ -= added ? 0 : it->second.record.size() + kOverheadBytes;
  it->second = {{record.begin(), record.end()}, group_};
  bytes_ += record.size() + kOverheadBytes;
}

void Identities::begin_group() {
  group_++;
  settled_.fill({});
}

void Identities::refer_to(const Key& key) {
  Key& settled = settled_[Hash()(key) % settled_.size()];
  if (settled == key) return;
  settled = key;
  const auto it = known_.find(key);
  if (it == known_.end() || it->second.group == group_) return;
  it->second.group = group_;
  missing_.push_back(it->second.record);
}

void Identities::refer_to_task(std::uint32_t tid) {
  if (tid) refer_to({tid, 0, 0, Kind::kTask});
}

void Identities::refer_to_wakers(std::span<const std::byte> sums, std::size_t count) {
  for (std::size_t i = 0; i < count && sums.size() >= sizeof(wst_sum); i++) {
    wst_sum sum{};
    copy(sums, sum);
    refer_to_task(sum.waker_tid);
    if (sum.waker_tgid != sum.waker_tid) refer_to_task(sum.waker_tgid);
    sums = sums.subspan(sizeof sum);
  }
}

void Identities::forget_half() {
  if (known_.empty()) return;
  std::vector<std::uint64_t> groups;
  for (const auto& [key, known] : known_) groups.push_back(known.group);
  const auto middle = groups.begin() + static_cast<std::ptrdiff_t>(groups.size() / 2);
  std::nth_element(groups.begin(), middle, groups.end());
  std::erase_if(known_, [&](const auto& entry) {
    const bool old = entry.second.group <= *middle;
    if (old) bytes_ -= entry.second.record.size() + kOverheadBytes;
    return old;
  });
}

}  // namespace whystall::recording
