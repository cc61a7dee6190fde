// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "ledger/code_seen.h"
#include "model/finding.h"
#include "model/recording.h"

namespace whystall::ledger {

/// Turns what a leaf names into words for the user.
class Names {
 public:
  explicit Names(const model::Recording& recording);

  std::string thread(model::Tid tid) const;   // "python3 4821"
  std::string comm(model::Tid tid) const;     // "python3", or "?" when the task was never announced
  std::string process(model::Pid pid) const;  // by the name of its main thread, else of what ran
  std::string call(std::uint16_t symbol) const;  // "cuStreamSynchronize", variants as one
  std::string file(const model::FileKey& key) const;
  std::string fs_type(const model::FileKey& key) const;
  std::string socket(std::uint64_t ino) const;                       // its peer, "10.0.0.7:2049"
  std::string lock(std::uint64_t address, model::Tid holder) const;  // "lock 0x7f00 held by x 12"
  std::string stop(model::Pid by) const;  // " stopped, let go on by bash 123"
  std::string chain(
      std::span<const model::Hop> hops) const;  // "python3 4821 ← poll ← feeder 4830 ← read"
  std::vector<model::ChainHop> hops(std::span<const model::Hop> hops) const;
  model::FindingObject object(model::Cause cause, const model::Object& id) const;

  const SeenInCode& code() const { return code_; }
  model::Interval window() const { return recording_.window(); }

 private:
  const model::Recording& recording_;
  SeenInCode code_;
  std::map<model::Pid, std::string>
      runners_;  // names of processes that are known from slices alone
};

/// One line for several files: the file itself, else the deepest directory that holds them all,
/// with their number.
std::string describe_files(std::span<const std::string> paths);

/// "read", "poll pipe"…: the call that a hop waited in; empty: none.
std::string call_name(const model::Hop& hop);

}  // namespace whystall::ledger
