// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <algorithm>
#include <map>
#include <string>

#include "evidence/evidence.h"
#include "gaps/gaps.h"
#include "ledger/accounts.h"
#include "ledger/devices.h"
#include "ledger/most_first.h"
#include "ledger/names.h"
#include "ledger/suspects.h"
#include "model/driver_call.h"
#include "timeline/timeline.h"
#include "walk/walk.h"

namespace whystall::ledger {

namespace {

using model::Cause;
using model::DurationNs;
using model::Leaf;

/// Where records of threads' states were lost, what the walk found is one step less sure. Returns
/// how much time that is.
DurationNs lower_where_lost(std::vector<Leaf>& leaves, const model::Recording& recording) {
  DurationNs lowered = 0;
  for (Leaf& leaf : leaves) {
    const bool touched =
        std::any_of(recording.losses.begin(), recording.losses.end(), [&](const wst_loss& loss) {
          return (loss.loss_class == WST_LOST_WAIT || loss.loss_class == WST_LOST_SLICE ||
                  loss.loss_class == WST_LOST_STORAGE) &&
                 static_cast<model::TimeNs>(loss.first_ns) < leaf.at.hi &&
                 static_cast<model::TimeNs>(loss.last_ns) >= leaf.at.lo;
        });
    if (touched) lowered += leaf.at.length();
    if (touched && leaf.confidence < model::Confidence::kEstimated) {
      leaf.confidence = static_cast<model::Confidence>(static_cast<int>(leaf.confidence) + 1);
    }
  }
  return lowered;
}

/// Charges what a list of gaps went to.
class Charges {
 public:
  Charges(const model::Recording& recording, const walk::Walks& walks, const Names& names)
      : recording_(recording), walks_(walks), ledger_(names) {}

  void walk(const gaps::Gap& gap) {
    auto leaves = walks_.walk(gap);
    where_lost_ += lower_where_lost(leaves, recording_);
    add(leaves, gap);
  }

  void add(const std::vector<Leaf>& leaves, const gaps::Gap& gap) {
    for (const Leaf& leaf : leaves) {
      charged_ += leaf.at.length();
      if (leaf.cause == Cause::kWaitIdle) no_demand_ += leaf.at.length();
      ledger_.charge(leaf, gaps_, gap.pid);
    }
    ledger_.close(gaps_, gap.at, gap.pid);
    gaps_++;
  }

  DurationNs charged() const { return charged_; }
  DurationNs no_demand() const { return no_demand_; }
  DurationNs where_lost() const { return where_lost_; }
  const Accounts& accounts() const { return ledger_; }

 private:
  const model::Recording& recording_;
  const walk::Walks& walks_;
  Accounts ledger_;
  DurationNs charged_ = 0, no_demand_ = 0, where_lost_ = 0;
  std::size_t gaps_ = 0;
};

}  // namespace

model::Diagnosis diagnose(const model::Recording& recording) {
  model::Diagnosis d;
  d.meta = recording.meta;
  d.load = recording.stats;
  d.window_ns = recording.window().length();
  for (const wst_loss& loss : recording.losses) {
    (loss.loss_class == WST_LOST_STORAGE ? d.storage_misses : d.lost_records) += loss.count;
  }

  const timeline::Timeline timeline(recording);
  const Names names(recording);
  const walk::Walks walks(recording, timeline);
  const evidence::Evidence evidence = evidence::find_evidence(recording, timeline);
  const auto devices = gaps::find_gaps(recording, evidence);
  d.submits = evidence.submits;
  d.syncs = evidence.syncs;
  d.queries = evidence.queries;
  d.processes = evidence.processes;

  Charges starved(recording, walks, names), silent(recording, walks, names);
  std::map<std::string, model::Exposure> exposures;
  for (const gaps::Device& device : devices) {
    d.devices.push_back(device_time(device, recording.meta));
    d.had_work_ns += device.had_work_ns;
    d.not_known_ns += device.not_known_ns;
    d.possibly_starved_ns += device.possibly_starved_ns;
    for (const gaps::Gap& gap : device.gaps) {
      if (gap.at.length() < gaps::kMicroGapNs) {
        d.micro_gaps++;
        d.micro_gap_ns += gap.at.length();
        starved.add({{gap.at, Cause::kGpuLaunch, gap.confidence, {.pid = gap.pid}, {}}}, gap);
        continue;
      }
      d.gaps++;
      d.starved_ns += gap.at.length();
      if (gap.confidence == model::Confidence::kProven) d.starved_proven_ns += gap.at.length();
      starved.walk(gap);
      if (gap.proof == evidence::kNoCall || !model::is_synchronise(recording.api[gap.proof]))
        continue;
      const std::string call = names.call(recording.api[gap.proof].symbol);
      model::Exposure& exposed = exposures[call];
      exposed.call = call;
      exposed.ns += gap.at.length();
      exposed.gaps++;
    }
    for (const gaps::Gap& silence : device.silences) {
      d.silent_ns += silence.at.length();
      silent.walk(silence);
    }
  }
  d.contexts = std::max<std::size_t>(1, devices.size());
  if (devices.empty()) d.not_known_ns = d.window_ns;
  d.no_demand_ns = starved.no_demand();
  d.conservation_error_ns = d.starved_ns + d.micro_gap_ns - starved.charged();
  d.findings = starved.accounts().findings();
  d.through_locks = starved.accounts().through_locks();
  d.silence_findings = silent.accounts().findings();
  d.exposures = most_time_first(exposures);
  d.long_calls = long_calls(recording, names);
  Watched watched = watched_in(recording);
  watched.where_lost_ns = starved.where_lost();
  d.suspects = suspects(d, watched);
  return d;
}

}  // namespace whystall::ledger
