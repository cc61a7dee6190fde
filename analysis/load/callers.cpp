// SPDX-License-Identifier: Apache-2.0
#include "load/callers.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "load/believable.h"
#include "load/memory.h"

namespace whystall::load {

using model::Tid;
using model::TimeNs;

Callers::Thread* Callers::thread(Tid tid) {
  const std::uint32_t number = numbers_.add(tid);
  if (number == threads_.size()) {
    threads_.emplace_back();
    took(kVectorFactor * sizeof(Thread) + model::Numbering::kMostBytes);
  }
  return gone_ ? nullptr : &threads_[number];
}

bool Callers::wants(Tid tid) {
  Thread* known = thread(tid);
  if (!known) return false;
  if (known->calls && !known->late) return true;
  known->passed = true;
  return false;
}

void Callers::add(const wst_wait& wait) {
  if (gone_) return;
  if (wants(wait.tid) || (!gone_ && (wait.flags & WST_WAIT_BORN))) keep(wait);
}

void Callers::add(const model::Sums& sums) {
  if (!gone_ && wants(sums.head.tid)) keep(sums);
}

void Callers::add(const wst_migrate& move) {
  if (gone_) return;
  kept_->migrations.push_back(move);
  took(kVectorFactor * sizeof move);
}

void Callers::keep(const wst_wait& wait) {
  kept_->waits.push_back(wait);
  took(kVectorFactor * sizeof wait);
}

void Callers::keep(const model::Sums& sums) {
  kept_->sums.push_back(sums);
  took(kVectorFactor * sizeof sums + sums.entries.size() * sizeof(wst_sum) + kNodeBytes);
}

void Callers::see_call(Tid tid) {
  if (gone_) return;
  Thread* known = thread(tid);
  if (!known || known->calls) return;
  known->calls = true;
  any_late_ |= known->late = known->passed;
}

void Callers::end_chunk(std::uint64_t at, std::uint64_t room) {
  if (!gone_ && bytes_ > room) give_up();
  if (!any_late_) return;
  any_late_ = false;
  any_missed_ = true;
  missed_until_ = at;
  for (Thread& thread : threads_) {
    if (std::exchange(thread.late, false)) thread.missed_until = at;
  }
}

void Callers::take_missed(const recording::Chunk& chunk) {
  const auto missed = [&](Tid tid) {
    const std::uint32_t number = numbers_.find(tid);
    if (number == model::Numbering::kNone) return false;
    const Thread& thread = threads_[number];
    return thread.calls && thread.passed && chunk.at <= thread.missed_until;
  };
  wst_wait wait;
  model::Sums sums;
  recording::for_each_record(chunk.bytes, [&](std::span<const std::byte> bytes) {
    if (gone_) return;
    const auto kind = kind_of(bytes);
    if (kind == WST_WAIT && read_record(wait, bytes)) {
      // Births were kept.
      if (missed(wait.tid) && !(wait.flags & WST_WAIT_BORN)) keep(wait);
    } else if (kind == WST_SUMS && read_sums(sums, bytes)) {
      if (missed(sums.head.tid)) keep(sums);
    }
  });
}

void Callers::took(std::uint64_t bytes) {
  bytes_ += bytes;
  if (bytes_ > max_bytes_) give_up();
}

void Callers::give_up() {
  gone_ = true;
  kept_ = nullptr;
  numbers_ = {};
  threads_ = {};
}

std::unique_ptr<model::Recording> Callers::finish(TimeNs gone_until) {
  if (gone_) return nullptr;
  if (gone_until > 0) {
    const auto gone = [&](const auto& r) { return static_cast<TimeNs>(r.h.ts) <= gone_until; };
    std::erase_if(kept_->waits, gone);
    std::erase_if(kept_->migrations, gone);
    std::erase_if(kept_->sums, [&](const model::Sums& sums) { return gone(sums.head); });
  }
  gone_ = true;
  return std::move(kept_);
}

}  // namespace whystall::load
