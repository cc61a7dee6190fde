// SPDX-License-Identifier: Apache-2.0
#include "capture/journals.h"

#include <cstring>
#include <utility>

#include "abi/events.h"

namespace whystall::capture {

namespace {

/// Of one session; the kernel's map of names holds four times as many.
constexpr std::size_t kMaxJournals = 1024;

bool woken_by_task(const wst_sum& sum) {
  return (sum.flags & WST_WAIT_WOKEN) && sum.waker_tid != 0 &&
         (sum.waker_context == WST_CTX_TASK || sum.waker_context == WST_CTX_LOCALNET);
}

}  // namespace

void JournalRequests::see(std::span<const std::byte> record) {
  wst_hdr header{};
  std::memcpy(&header, record.data(), sizeof header);
  if (header.kind == WST_TASK) {
    wst_task task{};
    std::memcpy(static_cast<void*>(&task), record.data(), sizeof task);
    if (task.flags & (WST_TASK_TARGET | WST_TASK_RECRUITED)) known_.insert(task.tid);
    return;
  }
  if (header.kind != WST_SUMS) return;
  wst_sums sums{};
  std::memcpy(static_cast<void*>(&sums), record.data(), sizeof sums);
  if (!(sums.flags & WST_SUMS_JOURNAL)) return;
  for (std::size_t i = 0; i < sums.count; i++) {
    wst_sum sum{};
    std::memcpy(&sum, record.data() + sizeof sums + i * sizeof sum, sizeof sum);
    if (!woken_by_task(sum) || known_.size() >= kMaxJournals) continue;
    if (known_.insert(sum.waker_tid).second) wanted_.push_back(sum.waker_tid);
  }
}

std::vector<std::uint32_t> JournalRequests::take() {
  return std::exchange(wanted_, {});
}

}  // namespace whystall::capture
