// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.h"

#include <algorithm>
#include <compare>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "gaps/gaps.h"
#include "ledger/names.h"
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
      if (o.pid == launcher) return {leaf.cause, "", 0, o.pid};
      return {leaf.cause, names.process(o.pid), 0, 0};
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

  /// Most time first; what is not known comes last.
  std::vector<Finding> findings() {
    std::vector<Finding> all;
    for (auto& [key, account] : accounts_) all.push_back(finish(account));
    std::stable_sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) {
      return std::pair(a.cause == Cause::kUnknown, -a.ns) <
             std::pair(b.cause == Cause::kUnknown, -b.ns);
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
  const gaps::Gaps found = gaps::find_gaps(recording);
  d.submits = found.submits;
  d.syncs = found.syncs;

  Ledger ledger(names);
  DurationNs charged = 0;
  for (std::size_t i = 0; i < found.gaps.size(); i++) {
    const gaps::Gap& gap = found.gaps[i];
    std::vector<Leaf> leaves;
    if (gap.at.length() < gaps::kMicroGapNs) {
      d.micro_gaps++;
      d.micro_gap_ns += gap.at.length();
      leaves.push_back({gap.at, Cause::kGpuLaunch, gap.confidence, {.pid = gap.pid}, {}});
    } else {
      d.gaps++;
      d.starved_ns += gap.at.length();
      if (gap.confidence == model::Confidence::kProven) d.starved_proven_ns += gap.at.length();
      leaves = walk::walk_gap(gap, recording, timeline);
      lower_where_lost(leaves, recording);
    }
    for (const Leaf& leaf : leaves) {
      charged += leaf.at.length();
      ledger.charge(leaf, i, gap.pid);
    }
  }
  d.contexts = std::max<std::uint64_t>(1, found.contexts);
  d.unproven_ns = d.observed_ns() - d.starved_ns - d.micro_gap_ns;
  d.conservation_error_ns = d.stalled_ns() - charged;
  d.findings = ledger.findings();
  return d;
}

}  // namespace whystall::ledger
