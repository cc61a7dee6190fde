// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ledger/account.h"
#include "ledger/names.h"
#include "model/finding.h"
#include "model/leaf.h"

namespace whystall::ledger {

/// Adds leaves up to findings. Leaves of one key make one finding: files of one directory, threads
/// of the launching process, and else what has one name. A hundred short-lived processes of one
/// name are one neighbour.
class Accounts {
 public:
  /// `names` must outlive it.
  explicit Accounts(const Names& names) : names_(names) {}

  /// Charges one leaf of the gap with this number, whose end a call of process `launcher` was. The
  /// leaves of a gap may come in any order and among those of other open gaps.
  void charge(const model::Leaf& leaf, std::size_t gap, model::Pid launcher);

  /// No more leaves of this gap will come. A gap that is never closed counts in the findings'
  /// times, but is not told as evidence. Gaps that a process ended are closed in the order of time,
  /// or all against it.
  void close(std::size_t gap, model::Interval at, model::Pid launcher);

  /// Most time first; what nobody asked for, and what is not known, come last.
  std::vector<model::Finding> findings() const;

  /// Time in chains that go through a lock, by lock and holder, most first.
  std::vector<model::LockTime> through_locks() const;

 private:
  struct Key {
    model::Cause cause;
    std::string name;
    std::uint64_t address = 0;
    std::uint32_t id = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Lock = std::pair<std::uint64_t, model::Tid>;  // address, holder
  struct ThroughLock {
    model::DurationNs ns = 0;
    std::uint64_t pieces = 0;
  };

  Key key_of(const model::Leaf& leaf, model::Pid launcher) const;
  void count_locks(const model::Leaf& leaf);
  std::string describe(const model::Finding& finding) const;
  std::string describe_stops(const model::Finding& finding) const;
  std::uint64_t gaps_of(const Account& account) const;

  const Names& names_;
  std::map<Key, Account> accounts_;
  std::map<std::size_t, std::vector<Account*>> open_;  // by gap: those with a share in it
  std::map<model::Pid, std::uint64_t> gaps_;           // closed ones, without launch overhead
  std::map<Lock, ThroughLock> locks_;
};

}  // namespace whystall::ledger
