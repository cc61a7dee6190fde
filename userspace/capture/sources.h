// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace whystall::capture {

/// What the kernel side is made of. A source that the kernel refuses is switched off and the rest
/// goes on without it, unless nothing could be explained without it.
enum class Source : std::uint8_t {
  kWaits,          // states, waits, wakers, who ran
  kWakeContext,    // whether a wake-up came from a task or from an interrupt
  kEnds,           // who holds the other end of a pipe or a socket
  kSamples,        // where threads are on the CPU
  kPageFaults,     // which mapped file a page fault waits for
  kDriverCalls,    // the accelerator's driver API
  kDriverQueries,  // of it, the calls that ask whether work is done
};
constexpr std::size_t kSources = 7;

enum class SourceState : std::uint8_t { kLive, kDegraded, kMissing };

struct SourceFacts {
  std::string_view name;     // in the recording and in JSON; stable
  std::string_view what;     // what it tells
  std::string_view without;  // what the answer lacks without it
  bool required;
  std::vector<const char*> programs;
};

const SourceFacts& facts_of(Source source);

/// How a source fares in this session.
struct SourceReport {
  SourceState state = SourceState::kLive;
  std::string why;     // empty when live
  std::string remedy;  // empty when there is none
};
using SourceReports = std::array<SourceReport, kSources>;

std::string_view state_name(SourceState state);

}  // namespace whystall::capture
