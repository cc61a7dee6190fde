// SPDX-License-Identifier: Apache-2.0
#include "evidence/intervals.h"

#include <algorithm>

namespace whystall::evidence {

using model::Interval;
using model::TimeNs;

namespace {

/// The first of `intervals` that does not end before `where` begins: often that is far in, and the
/// other list is short.
Intervals::const_iterator first_after(const Intervals& intervals, const Intervals& where) {
  if (where.empty()) return intervals.begin();
  return std::upper_bound(intervals.begin(), intervals.end(), where.front().lo,
                          [](TimeNs t, const Interval& i) { return t < i.hi; });
}

}  // namespace

Intervals united(Intervals intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.length() <= 0; });
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.lo < b.lo; });
  Intervals united;
  for (const Interval& i : intervals) {
    if (!united.empty() && i.lo <= united.back().hi)
      united.back().hi = std::max(united.back().hi, i.hi);
    else
      united.push_back(i);
  }
  return united;
}

Intervals clipped(const Intervals& intervals, Interval to) {
  return common(intervals, {to});
}

Intervals without(const Intervals& intervals, const Intervals& gone) {
  Intervals rest;
  auto next = first_after(gone, intervals);
  for (const Interval& i : intervals) {
    TimeNs lo = i.lo;
    while (next != gone.end() && next->hi <= lo) ++next;
    for (auto g = next; g != gone.end() && g->lo < i.hi; ++g) {
      if (g->lo > lo) rest.push_back({lo, g->lo});
      lo = std::max(lo, g->hi);
    }
    if (lo < i.hi) rest.push_back({lo, i.hi});
  }
  return rest;
}

Intervals common(const Intervals& a, const Intervals& b) {
  Intervals both;
  auto next = first_after(b, a);
  for (const Interval& i : a) {
    while (next != b.end() && next->hi <= i.lo) ++next;
    for (auto o = next; o != b.end() && o->lo < i.hi; ++o) {
      const Interval part{std::max(i.lo, o->lo), std::min(i.hi, o->hi)};
      if (part.length() > 0) both.push_back(part);
    }
  }
  return both;
}

}  // namespace whystall::evidence
