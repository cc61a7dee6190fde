// SPDX-License-Identifier: Apache-2.0
#include "ledger/accounts.h"

#include <algorithm>
#include <utility>

namespace whystall::ledger {

using model::Cause;
using model::DurationNs;
using model::Finding;
using model::Leaf;
using model::Object;

namespace {

/// What distinguishes objects within a finding; of an unknown only why.
Object object_of(const Leaf& leaf) {
  if (leaf.cause == Cause::kUnknown) return {.reason = leaf.object.reason};
  return leaf.object;
}

}  // namespace

Accounts::Key Accounts::key_of(const Leaf& leaf, model::Pid launcher) const {
  const Object& o = leaf.object;
  switch (leaf.cause) {
    case Cause::kStorageRead:
    case Cause::kStorageFault:
    case Cause::kStorageMetadata:
    case Cause::kStorageWrite: {
      const std::string path = names_.file(o.file);
      return {leaf.cause, names_.fs_type(o.file) + ":" + path.substr(0, path.rfind('/')), 0, 0};
    }
    case Cause::kLockUser:
    case Cause::kLockGil:
    case Cause::kLockKernel:
      return {leaf.cause, "", o.address, o.tid};
    case Cause::kCpuContention:
    case Cause::kObserver:
    case Cause::kIpcWorker:
    case Cause::kIpcChild:
      return {leaf.cause, names_.process(o.pid), 0, 0};
    case Cause::kCpuOversubscription:
      return {leaf.cause, "", 0, o.pid};
    case Cause::kIpcPipe:
    case Cause::kNetRemote:
      return {leaf.cause, "", o.ino, o.pid};
    case Cause::kMemoryFault:
    case Cause::kCpuBusy:
    case Cause::kCpuThrottled:
    case Cause::kCpuStopped:
    case Cause::kCpuWakeup:
    case Cause::kCpuWaiting:
    case Cause::kWaitSleep:
    case Cause::kWaitIdle:
    case Cause::kWaitPolling:
      if (o.pid == launcher) return {leaf.cause, "", 0, o.pid};
      return {leaf.cause, names_.process(o.pid), 0, 0};
    case Cause::kGpuSync:
    case Cause::kGpuTransfer:
    case Cause::kGpuAlloc:
      return {leaf.cause, names_.call(o.symbol), 0, o.pid};
    case Cause::kGpuDriver:
      return {leaf.cause, "", o.command, o.pid};
    case Cause::kGpuLaunch:
    case Cause::kUnknown:
      return {leaf.cause, "", 0, 0};
  }
  return {leaf.cause, "", 0, 0};
}

void Accounts::charge(const Leaf& leaf, std::size_t gap, model::Pid launcher) {
  Account& account = accounts_[key_of(leaf, launcher)];
  const DurationNs ns = leaf.at.length();
  account.finding.cause = leaf.cause;
  account.finding.ns += ns;
  account.finding.by_confidence[static_cast<std::size_t>(leaf.confidence)] += ns;
  account.finding.pieces++;
  account.gaps.insert(gap);
  account.objects[object_of(leaf)] += ns;
  // Of two as long, the later: leaves may come in any order.
  if (std::pair(ns, leaf.at.lo) > std::pair(account.longest, account.longest_at)) {
    account.longest = ns;
    account.longest_at = leaf.at.lo;
    account.chain = leaf.chain;
  }
}

std::vector<Finding> Accounts::findings() {
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

Finding Accounts::finish(Account& account) const {
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

std::string Accounts::describe(const Finding& f) const {
  if (f.objects.empty()) return "";
  if (model::is_storage(f.cause)) {
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

}  // namespace whystall::ledger
