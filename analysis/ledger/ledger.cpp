// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "evidence/evidence.h"
#include "gaps/gaps.h"
#include "ledger/devices.h"
#include "ledger/most_first.h"
#include "ledger/names.h"
#include "ledger/suspects.h"
#include "ledger/sweep.h"
#include "ledger/walked.h"
#include "model/driver_call.h"
#include "walk/walk.h"

namespace whystall::ledger {

namespace {

using model::Cause;
using model::Interval;
using model::TimeNs;

class InMemory final : public load::Source {
 public:
  explicit InMemory(const model::Recording& recording) : recording_(recording) {}
  const model::Recording& whole() const override { return recording_; }
  std::span<const TimeNs> slabs() const override { return begin_; }
  Result<const model::Recording*> states(std::size_t, model::DurationNs,
                                         const std::unordered_set<model::Tid>*) override {
    return &recording_;
  }

 private:
  const model::Recording& recording_;
  const std::vector<TimeNs> begin_ = {std::numeric_limits<TimeNs>::min()};
};

void describe(model::Diagnosis& d, const model::Recording& recording) {
  d.meta = recording.meta;
  d.load = recording.stats;
  d.window_ns = recording.window().length();
  for (const wst_loss& loss : recording.losses) {
    (loss.loss_class == WST_LOST_STORAGE ? d.storage_misses : d.lost_records) += loss.count;
  }
}

std::vector<gaps::Device> find_devices(model::Diagnosis& d, const model::Recording& recording,
                                       const evidence::History& history) {
  const evidence::Evidence evidence = evidence::find_evidence(recording, history);
  d.submits = evidence.submits;
  d.syncs = evidence.syncs;
  d.queries = evidence.queries;
  d.processes = evidence.processes;
  return gaps::find_gaps(recording, evidence);
}

void add_gap(model::Diagnosis& d, const gaps::Gap& gap) {
  if (gap.at.length() < gaps::kMicroGapNs) {
    d.micro_gaps++;
    d.micro_gap_ns += gap.at.length();
    return;
  }
  d.gaps++;
  d.starved_ns += gap.at.length();
  if (gap.confidence == model::Confidence::kProven) d.starved_proven_ns += gap.at.length();
}

std::vector<model::Exposure> exposures(const std::vector<gaps::Device>& devices,
                                       const model::Recording& recording, const Names& names) {
  std::map<std::string, model::Exposure> by_call;
  for (const gaps::Device& device : devices) {
    for (const gaps::Gap& gap : device.gaps) {
      if (gap.at.length() < gaps::kMicroGapNs || gap.proof == evidence::kNoCall ||
          !model::is_synchronise(recording.api[gap.proof]))
        continue;
      const std::string call = names.call(recording.api[gap.proof].symbol);
      model::Exposure& exposed = by_call[call];
      exposed.call = call;
      exposed.ns += gap.at.length();
      exposed.gaps++;
    }
  }
  return most_time_first(by_call);
}

}  // namespace

Result<model::Diagnosis> diagnose(load::Source& source) {
  const model::Recording& recording = source.whole();
  model::Diagnosis d;
  describe(d, recording);
  Sweep sweep(source);
  Survey survey;
  // Without a process that uses a device there is no gap, and nothing to ask the states for.
  const bool may_stall = !recording.api.empty() || model::device_user(recording.meta);
  if (may_stall) {
    auto found = sweep.survey();
    if (!found) return found.error();
    survey = std::move(*found);
  }
  const auto devices = find_devices(d, recording, survey.history);
  survey.history = {};

  const Names names(recording);
  const auto lost = lost_states(recording.losses);
  // Nobody is blamed for a silence.
  Walked starved(names, lost, false), silent(names, lost, true);
  for (const gaps::Device& device : devices) {
    d.devices.push_back(device_time(device, recording.meta));
    d.had_work_ns += device.had_work_ns;
    d.not_known_ns += device.not_known_ns;
    d.possibly_starved_ns += device.possibly_starved_ns;
    for (const gaps::Gap& gap : device.gaps) {
      add_gap(d, gap);
      starved.add(gap, gap.at.length() < gaps::kMicroGapNs);
    }
    for (const gaps::Gap& silence : device.silences) {
      d.silent_ns += silence.at.length();
      silent.add(silence, false);
    }
  }
  if (may_stall) {
    const walk::Facts facts(recording);
    auto status = sweep.walk(survey, [&](const timeline::Timeline& timeline, Interval slab) {
      const walk::Walks walks(facts, timeline);
      starved.walk(walks, slab);
      silent.walk(walks, slab);
    });
    if (!status) return status.error();
  }
  starved.finish();
  silent.finish();

  d.contexts = std::max<std::size_t>(1, devices.size());
  if (devices.empty()) d.not_known_ns = d.window_ns;
  const Charges& charges = starved.by_lineage();
  d.no_demand_ns = charges.no_demand();
  d.conservation_error_ns = d.starved_ns + d.micro_gap_ns - charges.charged();
  d.findings = charges.accounts().findings();
  d.lineage_ns = starved.relabelled();
  if (d.lineage_ns > 0) d.path_findings = starved.path().accounts().findings();
  d.through_locks = starved.path().accounts().through_locks();
  d.silence_findings = silent.path().accounts().findings();
  d.exposures = exposures(devices, recording, names);
  d.long_calls = long_calls(recording, names);
  Watched watched = watched_in(recording);
  watched.where_lost_ns = charges.where_lost();
  d.suspects = suspects(d, watched);
  return d;
}

model::Diagnosis diagnose(const model::Recording& recording) {
  InMemory source(recording);
  return std::move(*diagnose(source));
}

}  // namespace whystall::ledger
