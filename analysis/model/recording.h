// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi/events.h"
#include "model/expired_waits.h"
#include "model/file.h"
#include "model/last_wakes.h"
#include "model/nvml.h"
#include "model/time.h"

namespace whystall::model {

struct Task {
  Tid tid = 0;
  Pid pid = 0;
  std::string comm;
  bool target = false;
  bool kernel = false;
  Tid ns_tid = 0;  // its number in its own process namespace; 0 when not known
};

/// Waits that were added up: from `head.from_ns` to `head.h.ts` the thread was on the CPU but for
/// these.
struct Sums {
  wst_sums head;
  std::vector<wst_sum> entries;
};

struct TargetProcess {
  Pid pid = 0;
  std::string comm;
  std::string command;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> driver_code = {};  // addresses [lo, hi)
};

/// A source that was given up to keep within the budget.
struct Shed {
  std::string source;
  TimeNs at_ns = 0;
  double cpu_share = 0;
  double calls_per_second = 0;  // of the driver
};

/// One part of what watched the host.
struct Source {
  std::string name;     // "waits"
  std::string state;    // "live", "degraded", "missing"
  std::string why;      // it is not live
  bool tested = false;  // its programs were seen to run
  TimeNs from_ns = 0;   // since when it was attached; 0: not told, or never
  TimeNs until_ns = 0;  // when it was detached; 0: it was not
};

/// A piece of executable memory that a file was mapped to.
struct Code {
  std::uint64_t hi = 0;  // the address behind it
  std::string path;
};
/// Of one process, by where each piece begins.
using CodeMap = std::map<std::uint64_t, Code>;

/// What capture says of itself, from the META chunks.
struct Meta {
  std::string whystall;
  std::string kernel;
  std::string host;
  std::string profile;
  std::string clock;
  std::string stopped_by;
  std::string driver_library;
  std::vector<std::string> api_symbols;
  std::vector<TargetProcess> targets;
  Pid whystall_pid = 0;
  Pid helper_pid = 0;  // of whystall's that reads NVML
  bool api_complete = true;
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  TimeNs wall_start_ns = 0;
  TimeNs api_until_ns = 0;  // when the driver's calls were no longer watched; 0: to the end
  std::vector<TargetProcess> device_processes;  // those that have loaded the driver
  std::vector<Shed> shed;
  std::vector<Source> sources;
  double cost_cpu_share = -1;  // of the kernel side, mean of what was measured; < 0: was not
  Nvml nvml;
  /// Files that the targets had mapped when the recording began or ended, by inode and device: a
  /// mapping does not tell the generation.
  std::map<std::pair<std::uint64_t, std::uint32_t>, File> mapped_files;
  std::map<Pid, CodeMap> code;  // of the targets, when the recording began or ended
};

/// Whether a process is whystall, or a part of it.
inline bool is_whystall(const Meta& meta, Pid pid) {
  return pid != 0 && (pid == meta.whystall_pid || pid == meta.helper_pid);
}

/// Whether the sampled thread was in its driver's code.
inline bool in_driver(const Meta& meta, const wst_sample& sample) {
  for (const TargetProcess& process : meta.device_processes) {
    if (process.pid != sample.tgid) continue;
    for (const auto& [lo, hi] : process.driver_code) {
      if (sample.ip >= lo && sample.ip < hi) return true;
    }
  }
  return false;
}

/// The process to name first: the one that uses the device, where the given one only launched it.
inline const TargetProcess* device_user(const Meta& meta) {
  const auto given = [&](const TargetProcess& process) {
    for (const TargetProcess& t : meta.targets) {
      if (t.pid == process.pid) return true;
    }
    return false;
  };
  for (const TargetProcess& process : meta.device_processes) {
    if (given(process)) return &process;
  }
  if (!meta.device_processes.empty()) return &meta.device_processes.front();
  return meta.targets.empty() ? nullptr : &meta.targets.front();
}

/// What was met while reading; nothing of it stops the analysis, all of it is reported.
struct LoadStats {
  std::uint64_t records = 0;
  std::uint64_t unknown_records = 0;
  std::uint64_t bad_records = 0;
  std::uint64_t unknown_chunks = 0;
  std::uint64_t damaged_chunks = 0;
  bool cut = false;     // the file ends inside a chunk
  bool no_end = false;  // the recording was not ended by its writer
  /// How much of the recording's beginning has made way for later records; the window begins after.
  DurationNs dropped_ns = 0;
};

/// A recording in memory, or a part of one: records by kind.
struct Recording {
  Meta meta;
  std::map<Tid, Task> tasks;
  std::map<FileKey, File> files;
  std::vector<wst_wait> waits;
  std::vector<wst_slice> slices;
  std::vector<wst_api> api;
  std::vector<wst_loss> losses;
  std::vector<Sums> sums;
  std::vector<wst_migrate> migrations;
  std::vector<wst_pollset> pollsets;
  std::vector<wst_end> ends;
  std::vector<wst_sample> samples;
  /// Names of the processes that slices tell of, where the slices themselves are not kept.
  std::map<Pid, std::string> runners;
  /// Where the waits and the sums themselves are not kept.
  LastWakes last_wakes;
  ExpiredWaits expired_waits;
  LoadStats stats;

  Interval window() const { return {meta.start_ns, meta.end_ns}; }
};

/// What is known of a file: what the kernel told, else that a target had it mapped; null: nothing.
inline const File* find_file(const Recording& recording, const FileKey& key) {
  if (const auto file = recording.files.find(key); file != recording.files.end())
    return &file->second;
  const auto& mapped = recording.meta.mapped_files;
  const auto file = mapped.find({key.ino, key.dev});
  return file == mapped.end() ? nullptr : &file->second;
}

/// Which of the host's devices a process uses; -1 when that cannot be told: it is told by a host
/// that has one only, and by a process that was seen on one only.
inline int device_index(const Recording& recording, Pid pid) {
  const Nvml& nvml = recording.meta.nvml;
  if (nvml.devices.size() == 1) return static_cast<int>(nvml.devices.begin()->first);
  const auto seen = devices_of(nvml, pid);
  return seen.size() == 1 ? static_cast<int>(seen.front()) : -1;
}

}  // namespace whystall::model
