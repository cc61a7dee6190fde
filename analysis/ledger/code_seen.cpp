// SPDX-License-Identifier: Apache-2.0
#include "ledger/code_seen.h"

#include <algorithm>
#include <iterator>

#include "ledger/names.h"

namespace whystall::ledger {

using model::Interval;
using model::Tid;
using model::TimeNs;

namespace {

bool earlier(const wst_sample* a, const wst_sample* b) {
  return a->h.ts < b->h.ts;
}

}  // namespace

SeenInCode::SeenInCode(const model::Recording& recording) : recording_(recording) {
  if (recording.meta.code.empty()) return;  // of an older version
  for (const wst_sample& sample : recording.samples) threads_[sample.tid].push_back(&sample);
  for (auto& [tid, samples] : threads_) std::stable_sort(samples.begin(), samples.end(), earlier);
}

void SeenInCode::count(Tid tid, Interval at, std::map<std::string, std::uint64_t>& counts) const {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end()) return;
  const auto& samples = thread->second;
  auto next = std::partition_point(samples.begin(), samples.end(), [&](const wst_sample* s) {
    return static_cast<TimeNs>(s->h.ts) < at.lo;
  });
  for (; next != samples.end() && static_cast<TimeNs>((*next)->h.ts) < at.hi; ++next)
    counts[name_of(**next)]++;
}

std::string SeenInCode::name_of(const wst_sample& sample) const {
  constexpr const char* kNoFile = "no file that is known";
  if (sample.nr >= 0) {
    model::Hop call;
    call.nr = sample.nr;
    return "the kernel, in " + call_name(call);
  }
  const auto process = recording_.meta.code.find(sample.tgid);
  if (process == recording_.meta.code.end()) return kNoFile;
  const auto next = process->second.upper_bound(sample.ip);
  if (next == process->second.begin()) return kNoFile;
  const model::Code& code = std::prev(next)->second;
  return sample.ip < code.hi ? code.path : kNoFile;
}

}  // namespace whystall::ledger
