// SPDX-License-Identifier: Apache-2.0
#include "walk/open_waits.h"

#include <algorithm>

#include "timeline/sums.h"

namespace whystall::walk {

namespace {

/// More different things than a thread waits for without end in a recording.
constexpr std::size_t kMostOfThread = 64;

bool alike(const wst_wait& a, const wst_wait& b) {
  return a.ino == b.ino && a.dev == b.dev && a.nr == b.nr;
}

bool woken_by_task(std::uint32_t flags, std::uint8_t context) {
  return (flags & WST_WAIT_WOKEN) != 0 && (context == WST_CTX_TASK || context == WST_CTX_LOCALNET);
}

}  // namespace

void OpenWaits::see(const model::Recording& records) {
  for (const wst_wait& wait : records.waits) expect(wait);
  if (threads_.empty()) return;
  for (const wst_wait& wait : records.waits) {
    const bool slept = (wait.flags & (WST_WAIT_BLOCKED | WST_WAIT_BORN)) != 0;
    if (slept && woken_by_task(wait.flags, wait.waker_context)) consider(wait);
  }
  for (const model::Sums& sums : records.sums) {
    if (!threads_.contains(sums.head.tid)) continue;
    for (const wst_sum& sum : sums.entries) {
      if (!sum.file_kind || !woken_by_task(sum.flags, sum.waker_context)) continue;
      consider(timeline::last_wait(
          sums, sum,
          {static_cast<model::TimeNs>(sums.head.from_ns),
           static_cast<model::TimeNs>(std::max(sums.head.from_ns, sums.head.h.ts))}));
    }
  }
}

void OpenWaits::expect(const wst_wait& wait) {
  if (!(wait.flags & WST_WAIT_OPEN) || (wait.flags & WST_WAIT_RUNNING) ||
      wait.file_kind == WST_FILE_NONE)
    return;
  auto& opens = threads_[wait.tid];
  const auto known = std::find_if(opens.begin(), opens.end(),
                                  [&](const Open& open) { return alike(open.wait, wait); });
  if (known == opens.end()) {
    if (opens.size() < kMostOfThread) opens.push_back({wait, false, {}});
  } else if (known->wait.out_ns < wait.out_ns) {
    known->wait = wait;
  }
}

void OpenWaits::consider(const wst_wait& wait) {
  const auto thread = threads_.find(wait.tid);
  if (thread == threads_.end()) return;
  for (Open& open : thread->second) {
    if (!alike(open.wait, wait) || wait.out_ns >= open.wait.out_ns) continue;
    if (open.found && open.last.out_ns >= wait.out_ns) continue;
    open.found = true;
    open.last = wait;
  }
}

const wst_wait* OpenWaits::last_alike(const wst_wait& wait) const {
  const auto thread = threads_.find(wait.tid);
  if (thread == threads_.end()) return nullptr;
  for (const Open& open : thread->second) {
    if (alike(open.wait, wait)) return open.found ? &open.last : nullptr;
  }
  return nullptr;
}

}  // namespace whystall::walk
