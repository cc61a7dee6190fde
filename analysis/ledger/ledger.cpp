// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "evidence/evidence.h"
#include "gaps/gaps.h"
#include "ledger/names.h"
#include "model/driver_call.h"
#include "timeline/timeline.h"
#include "walk/walk.h"

namespace whystall::ledger {

namespace {

using model::Cause;
using model::DurationNs;
using model::Finding;
using model::Leaf;
using model::Object;

/// Leaves of one key make one finding: files of one directory, threads of the launching process,
/// and else what has one name. A hundred short-lived processes of one name are one neighbour.
struct Key {
  Cause cause;
  std::string name;
  std::uint64_t address = 0;
  std::uint32_t id = 0;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const Leaf& leaf, model::Pid launcher, const Names& names) {
  const Object& o = leaf.object;
  switch (leaf.cause) {
    case Cause::kStorageRead: {
      const std::string path = names.file(o.file);
      return {leaf.cause, names.fs_type(o.file) + ":" + path.substr(0, path.rfind('/')), 0, 0};
    }
    case Cause::kLockUser:
      return {leaf.cause, "", o.address, o.tid};
    case Cause::kCpuContention:
    case Cause::kObserver:
    case Cause::kIpcWorker:
      return {leaf.cause, names.process(o.pid), 0, 0};
    case Cause::kCpuBusy:
    case Cause::kCpuThrottled:
    case Cause::kCpuWaiting:
    case Cause::kWaitSleep:
    case Cause::kWaitIdle:
    case Cause::kWaitPolling:
      if (o.pid == launcher) return {leaf.cause, "", 0, o.pid};
      return {leaf.cause, names.process(o.pid), 0, 0};
    case Cause::kGpuSync:
    case Cause::kGpuTransfer:
    case Cause::kGpuAlloc:
      return {leaf.cause, names.call(o.symbol), 0, o.pid};
    case Cause::kGpuLaunch:
    case Cause::kUnknown:
      return {leaf.cause, "", 0, 0};
  }
  return {leaf.cause, "", 0, 0};
}

/// What distinguishes objects within a finding; of an unknown only why.
Object object_of(const Leaf& leaf) {
  if (leaf.cause == Cause::kUnknown) return {.reason = leaf.object.reason};
  return leaf.object;
}

/// Where records of threads' states were lost, what the walk found is one step less sure.
void lower_where_lost(std::vector<Leaf>& leaves, const model::Recording& recording) {
  for (Leaf& leaf : leaves) {
    const bool touched =
        std::any_of(recording.losses.begin(), recording.losses.end(), [&](const wst_loss& loss) {
          return (loss.loss_class == WST_LOST_WAIT || loss.loss_class == WST_LOST_SLICE ||
                  loss.loss_class == WST_LOST_STORAGE) &&
                 static_cast<model::TimeNs>(loss.first_ns) < leaf.at.hi &&
                 static_cast<model::TimeNs>(loss.last_ns) >= leaf.at.lo;
        });
    if (touched && leaf.confidence < model::Confidence::kEstimated) {
      leaf.confidence = static_cast<model::Confidence>(static_cast<int>(leaf.confidence) + 1);
    }
  }
}

class Ledger {
 public:
  explicit Ledger(const Names& names) : names_(names) {}

  void charge(const Leaf& leaf, std::size_t gap, model::Pid launcher) {
    Account& account = accounts_[key_of(leaf, launcher, names_)];
    const DurationNs ns = leaf.at.length();
    account.finding.cause = leaf.cause;
    account.finding.ns += ns;
    account.finding.by_confidence[static_cast<std::size_t>(leaf.confidence)] += ns;
    account.finding.pieces++;
    account.gaps.insert(gap);
    account.objects[object_of(leaf)] += ns;
    if (ns > account.longest) {
      account.longest = ns;
      account.chain = leaf.chain;
    }
  }

  /// Most time first; what nobody asked for, and what is not known, come last.
  std::vector<Finding> findings() {
    std::vector<Finding> all;
    for (auto& [key, account] : accounts_) all.push_back(finish(account));
    const auto last = [](const Finding& f) {
      return f.cause == Cause::kUnknown ? 2 : f.cause == Cause::kWaitIdle ? 1 : 0;
    };
    std::stable_sort(all.begin(), all.end(), [&](const Finding& a, const Finding& b) {
      return std::pair(last(a), -a.ns) < std::pair(last(b), -b.ns);
    });
    return all;
  }

 private:
  struct Account {
    Finding finding;
    std::map<Object, DurationNs> objects;
    std::set<std::size_t> gaps;
    std::vector<model::Hop> chain;
    DurationNs longest = 0;
  };

  Finding finish(Account& account) const {
    Finding& f = account.finding;
    f.gaps = account.gaps.size();
    f.path = names_.chain(account.chain);
    const auto most = std::max_element(f.by_confidence.begin(), f.by_confidence.end());
    f.confidence = static_cast<model::Confidence>(most - f.by_confidence.begin());
    for (const auto& [id, ns] : account.objects) {
      f.objects.push_back(names_.object(f.cause, id));
      f.objects.back().ns = ns;
    }
    std::stable_sort(f.objects.begin(), f.objects.end(),
                     [](const auto& a, const auto& b) { return a.ns > b.ns; });
    f.object = describe(f);
    return f;
  }

  std::string describe(const Finding& f) const {
    if (f.objects.empty()) return "";
    if (f.cause == Cause::kStorageRead) {
      std::vector<std::string> paths;
      for (const auto& object : f.objects) paths.push_back(object.name);
      const std::string fs = names_.fs_type(f.objects.front().id.file);
      return describe_files(paths) + (fs.empty() ? "" : " on " + fs);
    }
    const auto& first = f.objects.front();
    if (f.objects.size() == 1 || f.cause == Cause::kUnknown) return first.name;
    std::set<model::Pid> pids;
    for (const auto& object : f.objects) pids.insert(object.id.pid);
    const std::string processes = std::to_string(pids.size()) + " processes";
    if (first.kind == "process") return first.comm + " (" + processes + ")";
    const std::string name = names_.process(first.id.pid);
    const std::string threads = std::to_string(f.objects.size()) + " threads";
    if (pids.size() == 1) return name + " " + std::to_string(*pids.begin()) + " (" + threads + ")";
    return name + " (" + threads + " of " + processes + ")";
  }

  const Names& names_;
  std::map<Key, Account> accounts_;
};

}  // namespace

namespace {

/// Charges what a list of gaps went to.
class Charges {
 public:
  Charges(const model::Recording& recording, const walk::Walks& walks, const Names& names)
      : recording_(recording), walks_(walks), ledger_(names) {}

  void walk(const gaps::Gap& gap) {
    auto leaves = walks_.walk(gap);
    lower_where_lost(leaves, recording_);
    add(leaves, gap);
  }

  void add(const std::vector<Leaf>& leaves, const gaps::Gap& gap) {
    for (const Leaf& leaf : leaves) {
      charged_ += leaf.at.length();
      if (leaf.cause == Cause::kWaitIdle) no_demand_ += leaf.at.length();
      ledger_.charge(leaf, gaps_, gap.pid);
    }
    gaps_++;
  }

  DurationNs charged() const { return charged_; }
  DurationNs no_demand() const { return no_demand_; }
  std::vector<Finding> findings() { return ledger_.findings(); }

 private:
  const model::Recording& recording_;
  const walk::Walks& walks_;
  Ledger ledger_;
  DurationNs charged_ = 0, no_demand_ = 0;
  std::size_t gaps_ = 0;
};

template <typename Value>
std::vector<Value> most_time_first(const std::map<std::string, Value>& by_name) {
  std::vector<Value> all;
  for (const auto& [name, value] : by_name) all.push_back(value);
  std::stable_sort(all.begin(), all.end(),
                   [](const Value& a, const Value& b) { return a.ns > b.ns; });
  return all;
}

std::vector<model::LongCalls> long_calls(const model::Recording& recording, const Names& names) {
  std::map<std::string, model::LongCalls> by_name;
  const model::Interval window = recording.window();
  for (const wst_api& call : recording.api) {
    const bool copies = call.call == WST_API_COPY || call.call == WST_API_SYNC_COPY;
    if ((!copies && call.call != WST_API_MEMORY) || call.ret == WST_API_OPEN) continue;
    const DurationNs ns = model::time_of(call) - model::entry_of(call);
    if (ns < static_cast<DurationNs>(WST_API_LONG_NS) || model::entry_of(call) < window.lo ||
        model::time_of(call) > window.hi)
      continue;
    model::LongCalls& all = by_name[names.call(call.symbol)];
    all.call = names.call(call.symbol);
    all.copies = copies;
    all.calls++;
    if (__builtin_add_overflow(all.bytes, call.bytes, &all.bytes)) all.bytes = 0;
    all.ns += ns;
    all.longest_ns = std::max(all.longest_ns, ns);
  }
  return most_time_first(by_name);
}

/// What the host's list of devices and their own counters say of it.
void describe(model::DeviceTime& time, const gaps::Device& device, const model::Meta& meta) {
  const auto known = meta.nvml.devices.find(static_cast<std::uint32_t>(device.index));
  if (device.index < 0 || known == meta.nvml.devices.end()) return;
  time.index = device.index;
  time.pci_bus_id = known->second.pci_bus_id;
  time.uuid = known->second.uuid;
  time.name = known->second.name;
  time.nvml_busy = model::busy_share(meta.nvml, known->first, {meta.start_ns, meta.end_ns});
  for (const auto& [key, seen] : meta.nvml.processes) {
    const bool watched =
        std::find(device.pids.begin(), device.pids.end(), key.second) != device.pids.end();
    if (key.first == known->first && !watched) time.others.push_back(key.second);
  }
}

model::DeviceTime device_time(const gaps::Device& device, const model::Meta& meta) {
  model::DeviceTime time;
  describe(time, device, meta);
  time.starved_ns = device.starved_ns;
  time.had_work_ns = device.had_work_ns;
  time.not_known_ns = device.not_known_ns;
  for (const model::Pid pid : device.pids) {
    model::TargetProcess process{pid, "", ""};
    for (const auto* list : {&meta.targets, &meta.device_processes}) {
      for (const model::TargetProcess& known : *list) {
        if (known.pid == pid) process = known;
      }
    }
    time.processes.push_back(std::move(process));
  }
  return time;
}

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
  d.findings = starved.findings();
  d.silence_findings = silent.findings();
  d.exposures = most_time_first(exposures);
  d.long_calls = long_calls(recording, names);
  return d;
}

}  // namespace whystall::ledger
