// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/leaf.h"

namespace whystall::model {

/// One named thing of a finding, and the time charged to it.
struct FindingObject {
  std::string kind;  // file, lock, process, thread, stop, pipe, socket, call, reason
  std::string name;
  DurationNs ns = 0;
  Object id;
  std::string comm;  // lock: the holder's; process and thread: its own
};

/// One hop of a chain, in words.
struct ChainHop {
  Tid tid = 0;
  std::string thread;      // "python3 4821"
  std::string call;        // "poll pipe"; empty: on the CPU, or ready to run
  Interval at;             // within the one before
  std::uint64_t lock = 0;  // what it waited through, held by the next; 0: none
};

/// One of the gaps in which a finding has the longest time.
struct GapEvidence {
  Interval gap;
  Pid pid = 0;        // whose call ended it
  DurationNs ns = 0;  // the finding's, in this gap
  std::uint64_t pieces = 0;
  Interval longest;      // of its pieces in this gap, the one that the chain leads to
  bool lineage = false;  // that one, see Leaf::lineage
  std::vector<ChainHop> chain;
};
constexpr std::size_t kMostEvidence = 3;

/// How the gaps in which most of a finding's time lies follow each other. Where they follow no rule
/// that the recording proves, nothing is said.
struct Recurrence {
  enum class Kind { kNone, kOnce, kAtStart, kEachGap, kEvery };
  Kind kind = Kind::kNone;
  std::uint64_t occurrences = 0;     // gaps that were looked at: those with a good part of its time
  std::uint64_t gaps = 0;            // kEvery: from one to the next; 0: not regular in gaps
  DurationNs ns = 0;                 // kEvery: the same in time; 0: not regular in time
  TimeNs first_ns = 0, last_ns = 0;  // when the first and the last of these gaps began
};

/// Where threads were seen on the CPU: samples, 99 a second.
struct CodeSeen {
  std::string name;  // a file, "the kernel, in read", or "no file"
  std::uint64_t samples = 0;
};

struct Finding {
  Cause cause = Cause::kUnknown;
  DurationNs ns = 0;
  Confidence confidence = Confidence::kUnknown;  // of most of its time
  std::array<DurationNs, 4> by_confidence{};     // indexed by Confidence; sums to ns
  DurationNs lineage_ns = 0;                     // of ns: see Leaf::lineage
  std::uint64_t gaps = 0;                        // gaps it has a share in
  std::uint64_t pieces = 0;                      // separate waits or runs
  std::string object;                            // one line for all its objects
  std::string path;                              // the chain of its longest piece
  std::vector<FindingObject> objects;            // most time first; their ns sum to ns
  std::vector<GapEvidence> evidence = {};        // at most kMostEvidence, most time first
  Recurrence recurrence = {};
  std::vector<CodeSeen> code = {};  // cpu.busy: most first

  DurationNs mean_ns() const { return pieces ? ns / static_cast<DurationNs>(pieces) : 0; }
};

/// Time that was waited through a lock, whatever its holder did meanwhile: a second view of the
/// same time, beside its causes.
struct LockTime {
  std::uint64_t address = 0;
  Tid holder = 0;
  std::string name;  // "lock 0x7f00 held by python3 4730"
  DurationNs ns = 0;
  std::uint64_t pieces = 0;
};

}  // namespace whystall::model
