// SPDX-License-Identifier: Apache-2.0
#include "timeline/sums.h"

#include <algorithm>

#include "model/last_wait.h"
#include "timeline/pieces.h"

namespace whystall::timeline {

namespace {

using model::DurationNs;
using model::Interval;
using model::Sums;
using model::TimeNs;

/// As far as it lies `within`.
wst_wait last_wait(const Sums& sums, const wst_sum& sum, Interval within) {
  const auto inside = [&](std::uint64_t ns) {
    return static_cast<std::uint64_t>(std::clamp(time(ns), within.lo, within.hi));
  };
  wst_wait wait = model::last_wait(sums.head, sum);
  wait.h.ts = inside(wait.h.ts);
  wait.out_ns = inside(wait.out_ns);
  wait.wake_ns = inside(wait.wake_ns);
  return wait;
}

class Builder {
 public:
  Builder(std::deque<wst_wait>& waits, std::deque<Mix>& mixes) : waits_(waits), mixes_(mixes) {}

  void add(const Sums& sums, std::vector<Piece>& pieces) {
    const Interval whole{time(sums.head.from_ns), time(sums.head.h.ts)};
    if (whole.length() <= 0) return;

    // A few: inserted in place.
    by_time_.clear();
    for (const wst_sum& sum : sums.entries) {
      const auto place = std::upper_bound(
          by_time_.begin(), by_time_.end(), &sum,
          [](const wst_sum* a, const wst_sum* b) { return a->out_ns < b->out_ns; });
      by_time_.insert(place, &sum);
    }

    exact_.clear();
    Mix mix;
    DurationNs shared = 0;
    for (const wst_sum* sum : by_time_) {
      waits_.push_back(last_wait(sums, *sum, whole));
      const wst_wait* wait = &waits_.back();
      const std::size_t before = exact_.size();
      add_stay(exact_, *wait);
      Share share{wait, time(sum->blocked_ns), time(sum->runnable_ns)};
      for (std::size_t i = before; i < exact_.size(); i++) {
        DurationNs& from = exact_[i].state == State::kBlocked ? share.blocked : share.runnable;
        from -= exact_[i].at.length();
      }
      share.blocked = std::max<DurationNs>(0, share.blocked);
      share.runnable = std::max<DurationNs>(0, share.runnable);
      if (sum->count < 2 || share.blocked + share.runnable == 0) continue;
      shared += share.blocked + share.runnable;
      mix.shares.push_back(share);
    }
    mix.length = whole.length();
    for (const Piece& piece : exact_) mix.length -= piece.at.length();
    // More than the time holds: waits of before from_ns are in the totals, or the record lies. What
    // was between the waits that are known exactly is not known then.
    const bool rest_known = shared <= mix.length;
    Piece rest{{}, State::kRunning, nullptr};
    if (!mix.shares.empty()) {
      mixes_.push_back(std::move(mix));
      rest.state = State::kMixed;
      rest.mix = &mixes_.back();
    }
    TimeNs done = whole.lo;
    rest.mix_begin = whole.lo;
    for (const Piece& piece : exact_) {
      if (rest_known) add_piece(pieces, {done, piece.at.lo}, rest);
      add_piece(pieces, piece.at, piece);
      done = piece.at.hi;
      rest.mix_begin += piece.at.length();
    }
    if (rest_known) add_piece(pieces, {done, whole.hi}, rest);
  }

 private:
  std::deque<wst_wait>& waits_;
  std::deque<Mix>& mixes_;
  std::vector<const wst_sum*> by_time_;
  std::vector<Piece> exact_;
};

}  // namespace

void pieces_of_sums(std::span<const Sums* const> sums, std::deque<wst_wait>& waits,
                    std::deque<Mix>& mixes, std::vector<Piece>& pieces) {
  pieces.clear();
  Builder builder(waits, mixes);
  for (const Sums* one : sums) builder.add(*one, pieces);
}

std::vector<Piece> overlay(const std::vector<Piece>& base, const std::vector<Piece>& finer) {
  std::vector<Piece> result;
  result.reserve(base.size() + 2 * finer.size());
  std::size_t f = 0;
  // What `finer` says from `lo` to `hi`; `rest`, if there is one, says what is in between.
  auto fill = [&](TimeNs lo, TimeNs hi, const Piece* rest) {
    TimeNs done = lo;
    while (f < finer.size() && finer[f].at.hi <= lo) f++;
    for (std::size_t i = f; i < finer.size() && finer[i].at.lo < hi; i++) {
      const Interval at{std::max(finer[i].at.lo, lo), std::min(finer[i].at.hi, hi)};
      if (rest) add_piece(result, {done, at.lo}, *rest);
      add_piece(result, at, finer[i]);
      done = at.hi;
    }
    if (rest) add_piece(result, {done, hi}, *rest);
  };
  TimeNs covered = finer.empty() ? 0 : finer.front().at.lo;
  for (const Piece& piece : base) {
    if (piece.at.lo > covered) fill(covered, piece.at.lo, nullptr);
    if (piece.state == State::kRunning)
      fill(piece.at.lo, piece.at.hi, &piece);
    else
      add_piece(result, piece.at, piece);
    covered = std::max(covered, piece.at.hi);
  }
  if (!finer.empty() && finer.back().at.hi > covered) fill(covered, finer.back().at.hi, nullptr);
  return result;
}

}  // namespace whystall::timeline
