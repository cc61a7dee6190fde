// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/diagnosis.h"

namespace whystall::testing {

/// Names as a hostile program can give them to its files, threads and arguments.
inline const std::vector<std::string>& hostile_names() {
  static const std::vector<std::string> kNames = {
      "\x1b[2J\x1b[31mred",
      "two\nlines\r\tand a tab",
      "\"quoted\" \\back\\ 'single'",
      std::string("nul\0inside", 10),
      "\xff\xfe broken \xc3",
      "\xc2\x9b[31m one-byte CSI, \xc2\x85 next line",
      "\xed\xa0\x80 surrogate \xc0\xaf overlong \xf4\x90\x80\x80",
      "\x7f\x08\x08\x08 rubbed out",
      "größe/日本語/файл",
      std::string(5'000, 'x'),
      std::string(300, '\x1b'),
      "",
  };
  return kNames;
}

inline model::Finding finding(model::Cause cause, model::DurationNs ns, std::string object,
                              std::string path = "") {
  model::Finding f;
  f.cause = cause;
  f.ns = ns;
  f.confidence =
      cause == model::Cause::kUnknown ? model::Confidence::kUnknown : model::Confidence::kProven;
  f.by_confidence[static_cast<std::size_t>(f.confidence)] = ns;
  f.gaps = 3;
  f.pieces = 5;
  model::FindingObject o;
  o.kind = cause == model::Cause::kStorageRead ? "file"
           : cause == model::Cause::kLockUser  ? "lock"
           : cause == model::Cause::kUnknown   ? "reason"
           : cause == model::Cause::kCpuBusy   ? "thread"
                                               : "process";
  if (cause == model::Cause::kUnknown) {
    o.id.reason = model::Reason::kNoRecord;
    object = std::string(reason_text(o.id.reason));
  }
  o.name = o.comm = object;
  o.ns = ns;
  f.objects.push_back(o);
  f.object = std::move(object);
  f.path = std::move(path);
  return f;
}

/// Consistent sums around the findings given.
inline model::Diagnosis diagnosis(std::vector<model::Finding> findings) {
  model::Diagnosis d;
  d.meta.targets.push_back({4821, "python3", "python3 train.py"});
  d.meta.start_ns = 1'000'000'000;
  for (const auto& f : findings) {
    (f.cause == model::Cause::kGpuLaunch ? d.micro_gap_ns : d.starved_ns) += f.ns;
  }
  d.starved_proven_ns = d.starved_ns;
  d.had_work_ns = 6'000'000'000;
  d.not_known_ns = 4'000'000'000;
  d.window_ns = d.starved_ns + d.micro_gap_ns + d.had_work_ns + d.not_known_ns;
  d.meta.end_ns = d.meta.start_ns + d.window_ns;
  d.gaps = 3;
  d.submits = 100;
  d.syncs = 100;
  d.findings = std::move(findings);
  return d;
}

}  // namespace whystall::testing
