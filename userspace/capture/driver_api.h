// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "abi/events.h"
#include "target/exports.h"

namespace whystall::capture {

/// Which program a probe leads to.
enum class ProbeGroup {
  kEntry,  // at the entry alone
  kTimed,  // at the entry and the return
  kQuery,  // the same, of calls that ask whether work is done: proofs that can be done without
};

/// A probe on one function of the driver library.
struct ApiProbe {
  std::string symbol;
  std::uint64_t file_offset;   // of the function
  std::uint64_t probe_offset;  // see target::Export; for a return too: [rsp] is where it returns to
  wst_api_kind call;
  std::uint8_t stream_arg;  // as in WST_COOKIE
  std::uint8_t event_arg;
  std::uint8_t bytes_arg;
  bool per_thread;  // stream 0 means the per-thread default stream
  int priority;     // lower is attached first where only some can be

  ProbeGroup group() const;
};

/// The functions that put work on the device or prove it done, among those a library exports, one
/// per address, by priority. Every function that can submit work is in it, known arguments or not:
/// a submit that goes unseen would let "the device was empty" be claimed when it was not.
std::vector<ApiProbe> plan_api_probes(const std::vector<target::Export>& exports);

}  // namespace whystall::capture
