// SPDX-License-Identifier: Apache-2.0
#include "capture/budget.h"

#include <bpf/bpf.h>

#include <numeric>

namespace whystall::capture {

namespace {

constexpr DurationNs kMeasureFor = 200'000'000;
constexpr DurationNs kMeasureEvery = 5 * kSecond;
/// Of a probe on a well-chosen instruction, measured without its program.
constexpr double kTrapNs = 600;

}  // namespace

double Cost::total() const {
  return std::accumulate(share.begin(), share.end(), 0.0);
}

std::optional<Cost> CostMeter::step(const Kernel& kernel, TimeNs now) {
  if (!counting_.valid()) {
    if (now < next_) return std::nullopt;
    counting_ = Fd(bpf_enable_stats(BPF_STATS_RUN_TIME));
    next_ = now + kMeasureEvery;
    before_ = kernel.costs();
    began_ = now;
    return std::nullopt;
  }
  if (now - began_ < kMeasureFor) return std::nullopt;
  const ProgramCosts after = kernel.costs();
  counting_.reset();
  Cost cost;
  const auto elapsed = static_cast<double>(now - began_);
  for (std::size_t i = 0; i < kSources; i++) {
    auto ns = static_cast<double>(after[i].run_ns - before_[i].run_ns);
    const auto source = static_cast<Source>(i);
    if (source == Source::kDriverCalls || source == Source::kDriverQueries) {
      const auto runs = static_cast<double>(after[i].runs - before_[i].runs);
      ns += kTrapNs * runs;
      // A query, and few of the other calls, are seen twice: at the entry and at the return.
      cost.calls_per_second += runs / elapsed * 1e9 / (source == Source::kDriverQueries ? 2 : 1);
    }
    cost.share[i] = ns / elapsed;
  }
  return cost;
}

}  // namespace whystall::capture
