// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ledger/names.h"
#include "model/diagnosis.h"
#include "model/leaf.h"

namespace whystall::ledger {

/// Adds leaves up to findings. Leaves of one key make one finding: files of one directory, threads
/// of the launching process, and else what has one name. A hundred short-lived processes of one
/// name are one neighbour.
class Accounts {
 public:
  /// `names` must outlive it.
  explicit Accounts(const Names& names) : names_(names) {}

  /// Charges one leaf of the gap with this number, whose end a call of process `launcher` was.
  void charge(const model::Leaf& leaf, std::size_t gap, model::Pid launcher);

  /// Most time first; what nobody asked for, and what is not known, come last.
  std::vector<model::Finding> findings();

 private:
  struct Key {
    model::Cause cause;
    std::string name;
    std::uint64_t address = 0;
    std::uint32_t id = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Account {
    model::Finding finding;
    std::map<model::Object, model::DurationNs> objects;
    std::set<std::size_t> gaps;
    std::vector<model::Hop> chain;
    model::DurationNs longest = 0;
    model::TimeNs longest_at = 0;
  };

  Key key_of(const model::Leaf& leaf, model::Pid launcher) const;
  model::Finding finish(Account& account) const;
  std::string describe(const model::Finding& finding) const;

  const Names& names_;
  std::map<Key, Account> accounts_;
};

}  // namespace whystall::ledger
