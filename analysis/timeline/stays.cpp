// SPDX-License-Identifier: Apache-2.0
#include "timeline/stays.h"

#include <algorithm>
#include <utility>

#include "abi/syscalls.h"
#include "model/system_call.h"
#include "timeline/pieces.h"

namespace whystall::timeline {

namespace {

using model::DurationNs;
using model::Interval;
using model::is_poll;
using model::TimeNs;

/// What a wait loop may compute between two waits on the same word and still have made no progress:
/// one that looks around after a time-out, and one that only finds the word taken again.
constexpr DurationNs kLoopNs = 200'000;
constexpr DurationNs kRaceNs = 10'000;

/// Whether both wait on the same word or for the same file. A condition has two words, side by
/// side, which it uses in turn.
bool on_the_same(const wst_wait& a, const wst_wait& b) {
  using model::ExpiredWaits;
  if (a.nr != b.nr) return false;
  if (a.nr == WST_NR_FUTEX) return ExpiredWaits::word_of(a) == ExpiredWaits::word_of(b);
  return is_poll(a.nr) && a.ino != 0 && a.ino == b.ino && a.dev == b.dev;
}

/// Whether any wait can go on with that of `a`; see goes_on().
bool may_go_on(const wst_wait& a) {
  if (!(a.flags & WST_WAIT_WOKEN)) return false;
  return a.nr == WST_NR_FUTEX || (a.waker_context == WST_CTX_TIMER && a.ino != 0 && is_poll(a.nr));
}

/// `b` goes on with the wait of `a`, having run for `ran` in between: on the same thing, after a
/// time-out or a wake by the same task.
bool goes_on(const wst_wait& a, const wst_wait& b, DurationNs ran) {
  if (!on_the_same(a, b) || !(a.flags & WST_WAIT_WOKEN)) return false;
  if (a.waker_context == WST_CTX_TIMER) return ran <= kLoopNs;
  return a.nr == WST_NR_FUTEX && ran <= kRaceNs && (b.flags & WST_WAIT_WOKEN) &&
         a.waker_context == b.waker_context && a.waker_tid == b.waker_tid;
}

/// Leaves of the pieces, the last first, what lies at or after `t`.
void trim(std::vector<Piece>& pieces, TimeNs t) {
  while (!pieces.empty() && pieces.back().at.hi <= t) pieces.pop_back();
  if (!pieces.empty()) pieces.back().at.lo = std::max(pieces.back().at.lo, t);
}

}  // namespace

Stays::Stays(const NextOfThread* next, std::vector<Piece>* room) : pieces_(room) {
  if (pieces_) pieces_->clear();
  if (!next || !next->wait) return;
  next_ = &*next->wait;
  next_faulted_ = next->faulted;
  if (next->sleep) {
    const NextSleep& sleep = *next->sleep;
    sleep_ = {&sleep.wait, &sleep.ends_with, sleep.at, sleep.from, sleep.ran};
  }
  if (pieces_) begin_pieces();
}

void Stays::begin_pieces() {
  const Stay stay = stay_of(*next_);
  // Whether it is the one that sleeps, or one before it.
  const bool sleeps = stay.blocked.length() > 0;
  const bool merged = sleeps && sleep_.ends_with->h.ts != next_->h.ts;
  push_stay(*pieces_, stay, *next_, next_faulted_);
  if (!sleeps && sleep_.wait && sleep_.ran - stay.run.length() <= kLoopNs) lead_to_sleep(stay.end);
  if (!merged) return;
  for (Piece& piece : *pieces_) {
    if (piece.state != State::kBlocked) continue;
    piece.wait = sleep_.ends_with;
    piece.merged = true;
  }
}

bool Stays::stands_alone(const wst_wait& wait) {
  if ((wait.flags & WST_WAIT_OPEN) || may_go_on(wait)) return false;
  return stay_of(wait).blocked.length() > 0;
}

bool Stays::leads_to_sleep(TimeNs from) const {
  return sleep_.wait && sleep_.from <= from && from <= sleep_.at;
}

void Stays::join_runs_before_sleep() {
  for (auto piece = pieces_->rbegin(); piece != pieces_->rend() && piece->at.lo < sleep_.at;
       ++piece) {
    if (piece->state == State::kRunnable) continue;
    piece->state = State::kBlocked;
    piece->wait = sleep_.ends_with;
    piece->merged = true;
  }
}

/// Who leaves the CPU before `end` without sleeping, and then goes to sleep at once.
void Stays::lead_to_sleep(TimeNs end) {
  for (auto piece = pieces_->rbegin(); piece != pieces_->rend() && piece->at.lo < end; ++piece) {
    if (piece->state == State::kRunnable) piece->leads_to = sleep_.wait;
  }
}

void Stays::add(const wst_wait& wait) {
  // An open wait of a live view may be followed by the same wait, ended.
  if (next_ && (wait.flags & WST_WAIT_OPEN) && next_->out_ns == wait.out_ns) return;
  const Stay stay = stay_of(wait);
  const bool faulted = next_ && next_->major_faults != wait.major_faults;
  const bool leads = leads_to_sleep(stay.end);
  const DurationNs ran =
      std::max<DurationNs>(0, sleep_.ran - std::max<DurationNs>(0, stay.end - sleep_.from));
  const bool merged = stay.blocked.length() > 0 && leads && sleep_.at - stay.end <= kBetweenWaits &&
                      goes_on(wait, *sleep_.wait, ran);
  const bool leads_at_once = stay.blocked.length() == 0 && leads && ran <= kLoopNs;
  if (pieces_) add_pieces(stay, wait, faulted, merged, leads_at_once);
  const TimeNs begin = stay.run.length() > 0 ? stay.run.lo : stay.run.hi;
  if (stay.blocked.length() > 0) {
    sleep_ = {&wait, merged ? sleep_.ends_with : &wait, stay.blocked.lo, begin, stay.run.length()};
  } else if (leads) {
    sleep_.from = begin;
    sleep_.ran = ran + stay.run.length();
  } else {
    sleep_ = {};
  }
  next_ = &wait;
  next_faulted_ = faulted;
}

void Stays::add_pieces(const Stay& stay, const wst_wait& wait, bool faulted, bool merged,
                       bool leads_at_once) {
  trim(*pieces_, stay.end);
  if (merged) join_runs_before_sleep();
  push_stay(*pieces_, stay, wait, faulted);
  if (leads_at_once) lead_to_sleep(stay.end);
  if (!merged) return;
  for (auto piece = pieces_->rbegin(); piece != pieces_->rend() && piece->at.lo < stay.end;
       ++piece) {
    if (piece->state != State::kBlocked) continue;
    piece->wait = sleep_.ends_with;
    piece->merged = true;
  }
}

NextOfThread Stays::next() const {
  NextOfThread next;
  if (!next_) return next;
  next.wait = *next_;
  next.faulted = next_faulted_;
  if (sleep_.wait)
    next.sleep = NextSleep{*sleep_.wait, *sleep_.ends_with, sleep_.at, sleep_.from, sleep_.ran};
  return next;
}

std::vector<Piece> Stays::take() {
  std::vector<Piece> joined;
  joined.reserve(pieces_->size());
  for (auto piece = pieces_->rbegin(); piece != pieces_->rend(); ++piece) {
    const bool goes_on_here = !joined.empty() && piece->merged && joined.back().merged &&
                              joined.back().wait == piece->wait &&
                              joined.back().at.hi == piece->at.lo;
    if (goes_on_here)
      joined.back().at.hi = piece->at.hi;
    else
      joined.push_back(*piece);
  }
  return joined;
}

}  // namespace whystall::timeline
