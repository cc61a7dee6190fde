// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "abi/events.h"

namespace whystall::model {

/// The last one of waits that were added up, as a record of its own would have told it.
inline wst_wait last_wait(const wst_sums& head, const wst_sum& sum) {
  wst_wait w{};
  w.h = head.h;
  w.h.ts = sum.in_ns;
  w.tid = head.tid;
  w.tgid = head.tgid;
  w.out_ns = sum.out_ns;
  w.wake_ns = sum.wake_ns;
  w.nr = sum.nr;
  w.flags =
      sum.flags & ~static_cast<__u32>(WST_WAIT_QUOTA | WST_WAIT_FUTEX_WORD | WST_WAIT_RUNNING);
  w.waker_tid = sum.waker_tid;
  w.waker_tgid = sum.waker_tgid;
  w.waker_nr = sum.waker_nr;
  w.waker_context = sum.waker_context;
  w.waker_vec = sum.waker_vec;
  w.file_kind = sum.file_kind;
  w.dev = sum.dev;
  if (sum.file_kind)
    w.ino = sum.object;
  else
    w.args[0] = sum.object;
  return w;
}

}  // namespace whystall::model
