// SPDX-License-Identifier: Apache-2.0
#include "ledger/accounts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gaps/gaps.h"

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

/// ", in libjpeg.so.62", where most samples, of some, are in one file; else nothing.
std::string where_it_ran(const Finding& f) {
  constexpr std::uint64_t kFewest = 5;
  std::uint64_t all = 0;
  for (const auto& code : f.code) all += code.samples;
  if (all < kFewest || f.code.front().samples * 2 <= all) return "";
  const std::string& name = f.code.front().name;
  return ", in " + name.substr(name.rfind('/') + 1);
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
    case Cause::kCpuStopped:
      return {leaf.cause, "", 0, o.pid};
    case Cause::kIpcPipe:
    case Cause::kNetRemote:
      return {leaf.cause, "", o.ino, o.pid};
    case Cause::kMemoryFault:
    case Cause::kCpuBusy:
    case Cause::kCpuThrottled:
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
  if (account.add(leaf, object_of(leaf), gap)) open_[gap].push_back(&account);
  count_locks(leaf);
  if (leaf.cause == Cause::kCpuBusy && !leaf.chain.empty())
    names_.code().count(leaf.object.tid, leaf.lineage ? leaf.chain.back().at : leaf.at,
                        account.code());
}

void Accounts::count_locks(const Leaf& leaf) {
  for (std::size_t i = 0; i < leaf.chain.size(); i++) {
    if (leaf.chain[i].lock == 0) continue;
    const model::Tid holder = i + 1 < leaf.chain.size() ? leaf.chain[i + 1].tid : 0;
    ThroughLock& through = locks_[{leaf.chain[i].lock, holder}];
    through.ns += leaf.at.length();
    through.pieces++;
  }
}

void Accounts::close(std::size_t gap, model::Interval at, model::Pid launcher) {
  const auto open = open_.find(gap);
  if (open == open_.end()) return;
  std::uint64_t& number = gaps_[launcher];
  if (at.length() >= gaps::kMicroGapNs) number++;
  for (Account* account : open->second) account->close(gap, at, launcher, number);
  open_.erase(open);
}

std::uint64_t Accounts::gaps_of(const Account& account) const {
  std::uint64_t sum = 0;
  for (const auto& [pid, count] : gaps_) {
    if (account.occurrences().pid() == 0 || account.occurrences().pid() == pid) sum += count;
  }
  return sum;
}

std::vector<Finding> Accounts::findings() const {
  std::vector<Finding> all;
  for (const auto& [key, account] : accounts_) {
    Finding f = account.finding(names_);
    if (f.cause != Cause::kGpuLaunch && f.cause != Cause::kUnknown)
      f.recurrence = account.occurrences().recurrence(names_.window(), gaps_of(account));
    f.object = describe(f);
    all.push_back(std::move(f));
  }
  const auto last = [](const Finding& f) {
    return f.cause == Cause::kUnknown ? 2 : f.cause == Cause::kWaitIdle ? 1 : 0;
  };
  std::stable_sort(all.begin(), all.end(), [&](const Finding& a, const Finding& b) {
    return std::pair(last(a), -a.ns) < std::pair(last(b), -b.ns);
  });
  return all;
}

std::vector<model::LockTime> Accounts::through_locks() const {
  std::vector<model::LockTime> all;
  for (const auto& [lock, through] : locks_)
    all.push_back({lock.first, lock.second, names_.lock(lock.first, lock.second), through.ns,
                   through.pieces});
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return all;
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
  if (f.cause == Cause::kCpuOversubscription) return "own threads of " + first.name;
  if (f.cause == Cause::kCpuStopped) return describe_stops(f);
  // Of a lock, the objects differ only in what its holder did.
  if (f.objects.size() == 1 || f.cause == Cause::kUnknown || model::is_lock(f.cause))
    return first.name + where_it_ran(f);
  std::set<model::Pid> pids;
  for (const auto& object : f.objects) pids.insert(object.id.pid);
  const std::string processes = std::to_string(pids.size()) + " processes";
  if (first.kind == "process") return first.comm + " (" + processes + ")";
  const std::string name = names_.process(first.id.pid);
  const std::string threads = std::to_string(f.objects.size()) + " threads";
  if (pids.size() == 1)
    return name + " " + std::to_string(*pids.begin()) + " (" + threads + ")" + where_it_ran(f);
  return name + " (" + threads + " of " + processes + ")";
}

/// "python3 4821 (3 threads) stopped, let go on by bash 123".
std::string Accounts::describe_stops(const Finding& f) const {
  const auto& first = f.objects.front();
  if (f.objects.size() == 1) return first.name;
  return first.comm + " (" + std::to_string(f.objects.size()) + " threads)" +
         names_.stop(first.id.pid);
}

}  // namespace whystall::ledger
