// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/time.h"
#include "capture/sources.h"

namespace whystall::capture {

/// What the helper's lines (userspace/nvml/sampler.c) have told, on its way into the recording. The
/// lines come from a library that may belong to the target: each is checked, and what waits to be
/// written is bounded.
class NvmlFacts {
 public:
  /// A line that is no JSON is an error message of the system's, kept for the case that no other
  /// follows.
  void take_line(std::string_view line);
  /// The helper is there no more; `how` is why, as far as can be seen from outside.
  void take_end(std::string_view how);
  /// There will be no lines.
  void take_missing(std::string_view why);

  /// What came since the last time, as META of a recording: {"nvml": {"at_ns", "state", "why",
  /// "devices", "samples", "processes", "memory"}}, each left out when there is nothing new; null
  /// when all is. What does not change comes again each 10 s: in a recording of bounded size it
  /// makes way, too.
  nlohmann::json take_piece(TimeNs now);

  /// Live, degraded (what is lost is told), or missing; the last also before the first answer.
  SourceReport report() const;
  /// Of the readings, how long one took, in the mean; negative: there was none.
  double reading_ns() const;
  /// Whether the report will hardly change: there was a reading, or there will be none.
  bool settled() const { return readings_ > 0 || !missing_.empty() || !degraded_.empty(); }

 private:
  void take_device(const nlohmann::json& device);
  void take_sample(const nlohmann::json& sample);
  void take_memory(const nlohmann::json& memory);
  void take_processes(const nlohmann::json& look);
  void take_known(const nlohmann::json& line);

  bool live_ = false;
  std::string missing_;     // why; empty: it is not
  std::string degraded_;    // what is lost, and why
  std::string last_words_;  // the system's
  std::map<std::uint32_t, nlohmann::json> devices_;
  nlohmann::json samples_ = nlohmann::json::array();
  nlohmann::json memory_ = nlohmann::json::array();
  nlohmann::json processes_ = nlohmann::json::array();
  bool changed_ = true;
  TimeNs next_repeat_ = 0;
  double reading_sum_ns_ = 0;
  std::uint64_t readings_ = 0;
};

}  // namespace whystall::capture
