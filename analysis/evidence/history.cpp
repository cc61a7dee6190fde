// SPDX-License-Identifier: Apache-2.0
#include "evidence/history.h"

#include <algorithm>
#include <limits>

#include "abi/syscalls.h"

namespace whystall::evidence {

namespace {

using model::Interval;
using model::Tid;
using model::TimeNs;
using timeline::Piece;
using timeline::State;

bool woken_by_interrupt(const wst_wait& wait) {
  return (wait.flags & WST_WAIT_WOKEN) != 0 &&
         (wait.waker_context == WST_CTX_HARDIRQ || wait.waker_context == WST_CTX_SOFTIRQ ||
          wait.waker_context == WST_CTX_TIMER);
}

bool waits_for_device(const wst_wait& wait) {
  switch (wait.nr) {
    case WST_NR_POLL:
    case WST_NR_PPOLL:
    case WST_NR_SELECT:
    case WST_NR_PSELECT6:
    case WST_NR_EPOLL_WAIT:
    case WST_NR_EPOLL_PWAIT:
      return true;
    default:
      return false;
  }
}

Spell spell_of(const Piece& piece) {
  Spell spell{piece.at, 0, piece.state};
  if (piece.state == State::kMixed) {
    for (const timeline::Share& share : piece.mix->shares)
      spell.off_cpu += share.blocked + share.runnable;
  }
  if (piece.state == State::kBlocked) {
    spell.for_device = waits_for_device(*piece.wait);
    spell.by_interrupt = woken_by_interrupt(*piece.wait);
  }
  return spell;
}

}  // namespace

std::unordered_set<Tid> callers(const std::vector<wst_api>& api) {
  std::unordered_set<Tid> threads;
  for (const wst_api& call : api) threads.insert(call.tid);
  return threads;
}

History::History(const model::Recording& recording, const timeline::Timeline& timeline) {
  add_births(recording.waits);
  add_before(timeline,
             {std::numeric_limits<TimeNs>::min() / 2, std::numeric_limits<TimeNs>::max() / 2},
             callers(recording.api));
  finish();
}

void History::add_before(const timeline::Timeline& timeline, Interval at,
                         const std::unordered_set<Tid>& threads) {
  for (const Tid tid : threads) {
    const auto pieces = timeline.thread(tid);
    auto& spells = threads_[tid];  // last first, until it is finished
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      Spell spell = spell_of(*piece);
      spell.at = {std::max(at.lo, spell.at.lo), std::min(at.hi, spell.at.hi)};
      if (spell.at.length() <= 0) continue;
      // Of two mixed ones each has its own sum; a single one may have been cut by the slab's end.
      const bool may_join = spell.state != State::kMixed || piece->at.hi > at.hi;
      if (may_join && !spells.empty() && spells.back().at.lo == spell.at.hi &&
          spells.back().like(spell))
        spells.back().at.lo = spell.at.lo;
      else
        spells.push_back(spell);
    }
  }
}

void History::add_births(const std::vector<wst_wait>& waits) {
  for (const wst_wait& wait : waits) {
    if (!(wait.flags & WST_WAIT_BORN)) continue;
    TimeNs& born = births_[{wait.tgid, wait.tid}];
    born = std::max(born, static_cast<TimeNs>(wait.out_ns));
  }
}

void History::finish() {
  for (auto& [tid, spells] : threads_) {
    spells.shrink_to_fit();
    std::reverse(spells.begin(), spells.end());
  }
}

std::span<const Spell> History::thread(Tid tid) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return {};
  return found->second;
}

const Spell* History::before(Tid tid, TimeNs t) const {
  const auto spells = thread(tid);
  const auto it = std::lower_bound(spells.begin(), spells.end(), t,
                                   [](const Spell& s, TimeNs at) { return s.at.hi < at; });
  if (it == spells.end() || it->at.lo >= t) return nullptr;
  return &*it;
}

std::map<Tid, TimeNs> History::births(model::Pid pid) const {
  std::map<Tid, TimeNs> born;
  for (auto it = births_.lower_bound({pid, 0}); it != births_.end() && it->first.first == pid; ++it)
    born[it->first.second] = it->second;
  return born;
}

}  // namespace whystall::evidence
