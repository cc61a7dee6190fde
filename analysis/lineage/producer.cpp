// SPDX-License-Identifier: Apache-2.0
#include "lineage/producer.h"

#include "walk/wait_kind.h"

namespace whystall::lineage {

using model::Hop;
using model::TimeNs;
using timeline::Piece;
using timeline::State;

namespace {

/// From handing work to another thread until waiting for it, a thread takes no longer.
constexpr model::DurationNs kAskNs = 200'000;

/// Whether the wait ended because that thread had something for the waiting one.
bool hands_over(const Piece* piece, const Hop& waits, const Hop& by) {
  return piece && piece->state == State::kBlocked && waits.lock == 0 &&
         (piece->wait->flags & WST_WAIT_WOKEN) && piece->wait->waker_tid == by.tid &&
         !walk::is_uninterruptible(*piece->wait);
}

bool works_ahead(const timeline::Timeline& timeline, model::Tid tid, model::Tid of, TimeNs begin) {
  const Piece* before = timeline.before(tid, begin - kAskNs);
  if (!before) return false;
  return !(before->state == State::kBlocked && (before->wait->flags & WST_WAIT_WOKEN) &&
           before->wait->waker_tid == of);
}

}  // namespace

Delivery last_delivery(const timeline::Timeline& timeline, const model::Leaf& leaf,
                       std::size_t from) {
  Delivery last;
  for (std::size_t i = from; i + 1 < leaf.chain.size(); i++) {
    const Hop &waits = leaf.chain[i], &by = leaf.chain[i + 1];
    const Piece* piece = timeline.before(waits.tid, leaf.at.hi);
    if (!hands_over(piece, waits, by)) break;
    if (works_ahead(timeline, by.tid, waits.tid, piece->at.lo))
      last = {i + 1, static_cast<TimeNs>(piece->wait->wake_ns)};
  }
  return last;
}

}  // namespace whystall::lineage
