// SPDX-License-Identifier: Apache-2.0
#include "load/load.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "recording/reader.h"

namespace whystall::load {

namespace {

using model::Recording;
using nlohmann::json;

/// Copies a record whose tail may be missing (older writer) or longer than known (newer writer).
template <typename Record>
Record copy_record(std::span<const std::byte> bytes) {
  Record record{};
  std::memcpy(&record, bytes.data(), std::min(bytes.size(), sizeof record));
  return record;
}

/// What these records had in format 1.0; fields were added behind.
constexpr std::size_t kFirstTaskBytes = 56;
constexpr std::size_t kFirstWaitBytes = 144;

/// Later than any clock gets, and far from where sums of times overflow.
constexpr std::uint64_t kMaxTime = std::uint64_t{1} << 60;
/// Thirteen days: no recording that fits in memory is longer.
constexpr model::DurationNs kMaxWindow = model::DurationNs{1} << 50;

template <typename... Times>
bool believable(Times... times) {
  return ((static_cast<std::uint64_t>(times) <= kMaxTime) && ...);
}

bool believable(const wst_wait& r) {
  return believable(r.h.ts, r.ran_ns, r.out_ns, r.wake_ns);
}
bool believable(const wst_slice& r) {
  return believable(r.h.ts, r.start_ns);
}
bool believable(const wst_api& r) {
  return believable(r.h.ts, r.entry_ns);
}
bool believable(const wst_sum& r) {
  return believable(r.first_ns, r.out_ns, r.wake_ns, r.in_ns, r.blocked_ns, r.runnable_ns);
}
bool believable(const wst_sums& r) {
  return believable(r.h.ts, r.from_ns, r.short_blocked_ns, r.short_runnable_ns);
}
bool believable(const wst_migrate& r) {
  return believable(r.h.ts);
}
bool believable(const wst_pollset& r) {
  return believable(r.h.ts, r.out_ns) && r.count <= WST_MAX_POLLED;
}
bool believable(const wst_end& r) {
  return believable(r.h.ts);
}
bool believable(const wst_sample& r) {
  return believable(r.h.ts);
}
bool believable(const wst_loss& r) {
  return believable(r.h.ts, r.first_ns, r.last_ns);
}

/// False: the record's kind is known, but it is too short for what it must hold, or its times
/// cannot be.
template <typename Record>
bool add_to(std::vector<Record>& records, std::span<const std::byte> bytes,
            std::size_t least = sizeof(Record)) {
  if (bytes.size() < least) return false;
  const auto record = copy_record<Record>(bytes);
  if (!believable(record)) return false;
  records.push_back(record);
  return true;
}

bool add_sums(Recording& recording, std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wst_sums)) return false;
  model::Sums sums{copy_record<wst_sums>(bytes), {}};
  const auto entries = bytes.subspan(sizeof(wst_sums));
  if (!believable(sums.head) || sums.head.count > WST_MAX_SUMS ||
      entries.size() < sums.head.count * sizeof(wst_sum))
    return false;
  for (std::size_t i = 0; i < sums.head.count; i++) {
    sums.entries.push_back(copy_record<wst_sum>(entries.subspan(i * sizeof(wst_sum))));
    if (!believable(sums.entries.back())) return false;
  }
  recording.sums.push_back(std::move(sums));
  return true;
}

std::string bounded_text(const char* text, std::size_t bytes) {
  return {text, strnlen(text, bytes)};
}

/// Components come from the leaf to the root.
std::string join_path(std::string_view leaf_first) {
  std::string path;
  while (!leaf_first.empty()) {
    const std::size_t end = std::min(leaf_first.find('\0'), leaf_first.size());
    path = "/" + std::string(leaf_first.substr(0, end)) + path;
    leaf_first.remove_prefix(std::min(end + 1, leaf_first.size()));
  }
  return path.empty() ? "/" : path;
}

void add_task(Recording& recording, const wst_task& r) {
  model::Task& task = recording.tasks[r.tid];
  task.tid = r.tid;
  task.ns_tid = r.ns_tid;
  task.pid = r.tgid;
  task.comm = bounded_text(r.comm, sizeof r.comm);
  task.target |= (r.flags & WST_TASK_TARGET) != 0;
  task.kernel = (r.flags & WST_TASK_KERNEL) != 0;
}

bool add_file(Recording& recording, std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(wst_file)) return false;
  wst_file r{};
  std::memcpy(static_cast<void*>(&r), bytes.data(), sizeof r);
  const auto path = bytes.subspan(sizeof(wst_file));
  if (r.path_len > path.size() || r.path_len > WST_PATH_MAX) return false;
  model::File file;
  file.path = join_path({reinterpret_cast<const char*>(path.data()), r.path_len});
  file.fs_type = bounded_text(r.fs_type, sizeof r.fs_type);
  file.deleted = (r.flags & WST_PATH_DELETED) != 0;
  file.truncated = (r.flags & WST_PATH_TRUNCATED) != 0;
  if (file.truncated) file.path = "…" + file.path;
  recording.files[{r.ino, r.dev, r.generation}] = std::move(file);
  return true;
}

bool add_record(Recording& recording, std::span<const std::byte> bytes) {
  const auto header = copy_record<wst_hdr>(bytes);
  switch (header.kind) {
    case WST_TASK:
      if (bytes.size() < kFirstTaskBytes) return false;
      add_task(recording, copy_record<wst_task>(bytes));
      return true;
    case WST_WAIT:
      return add_to(recording.waits, bytes, kFirstWaitBytes);
    case WST_SLICE:
      return add_to(recording.slices, bytes);
    case WST_API:
      return add_to(recording.api, bytes);
    case WST_LOSS:
      return add_to(recording.losses, bytes);
    case WST_FILE:
      return add_file(recording, bytes);
    case WST_SUMS:
      return add_sums(recording, bytes);
    case WST_MIGRATE:
      return add_to(recording.migrations, bytes);
    case WST_POLLSET:
      return add_to(recording.pollsets, bytes);
    case WST_END:
      return add_to(recording.ends, bytes);
    case WST_SAMPLE:
      return add_to(recording.samples, bytes);
    case WST_EXIT:
    case WST_QUIET:
      return true;
    default:
      recording.stats.unknown_records++;
      return true;
  }
}

model::Pid pid_of(const json& process) {
  const auto pid = process.find("pid");
  if (pid != process.end() && pid->is_number_float()) return 0;
  return process.value("pid", 0u);
}

void read_meta(model::Meta& meta, const json& j) {
  auto text = [&](const char* key, std::string& to) {
    if (auto it = j.find(key); it != j.end() && it->is_string()) to = it->get<std::string>();
  };
  auto time = [&](const char* key, model::TimeNs& to) {
    const auto it = j.find(key);
    if (it == j.end() || !it->is_number_integer()) return;
    const auto value = it->get<model::TimeNs>();
    if (value >= 0 && believable(value)) to = value;
  };
  text("whystall", meta.whystall);
  text("kernel", meta.kernel);
  text("host", meta.host);
  text("profile", meta.profile);
  text("clock", meta.clock);
  text("stopped_by", meta.stopped_by);
  text("driver_library", meta.driver_library);
  time("start_ns", meta.start_ns);
  time("end_ns", meta.end_ns);
  // Wall-clock time: only printed, and beyond what a monotonic clock can reach.
  if (const auto it = j.find("wall_start_ns"); it != j.end() && it->is_number_integer()) {
    meta.wall_start_ns = it->get<model::TimeNs>();
  }
  if (auto it = j.find("whystall_pid"); it != j.end() && it->is_number_unsigned())
    meta.whystall_pid = it->get<model::Pid>();
  if (auto it = j.find("api_complete"); it != j.end() && it->is_boolean())
    meta.api_complete = it->get<bool>();
  if (auto it = j.find("api_symbols"); it != j.end() && it->is_array()) {
    meta.api_symbols.clear();
    for (const auto& s : *it) meta.api_symbols.push_back(s.is_string() ? s.get<std::string>() : "");
  }
  if (auto it = j.find("targets"); it != j.end() && it->is_array()) {
    meta.targets.clear();
    for (const auto& t : *it) {
      if (!t.is_object()) continue;
      meta.targets.push_back({pid_of(t), t.value("comm", ""), t.value("command", "")});
    }
  }
}

/// nlohmann throws on a wrong type; nothing of it leaves this file.
void read_meta_chunk(Recording& recording, std::span<const std::byte> bytes) {
  try {
    const json j = json::parse(reinterpret_cast<const char*>(bytes.data()),
                               reinterpret_cast<const char*>(bytes.data()) + bytes.size());
    if (j.is_object())
      read_meta(recording.meta, j);
    else
      recording.stats.bad_records++;
  } catch (const json::exception&) {
    recording.stats.bad_records++;
  }
}

/// A recording that its writer could not end: the window is as long as there are records.
void close_window(Recording& recording) {
  model::Meta& meta = recording.meta;
  if (meta.end_ns - meta.start_ns > kMaxWindow) {
    recording.stats.bad_records++;
    meta.end_ns = 0;
  }
  if (meta.end_ns > meta.start_ns && meta.start_ns > 0) return;
  recording.stats.no_end = true;
  for (const auto& w : recording.waits)
    meta.end_ns = std::max(meta.end_ns, static_cast<model::TimeNs>(w.h.ts));
  for (const auto& a : recording.api)
    meta.end_ns = std::max(meta.end_ns, static_cast<model::TimeNs>(a.h.ts));
  if (meta.start_ns <= 0 || meta.end_ns < meta.start_ns) meta.end_ns = meta.start_ns;
  meta.end_ns = std::min(meta.end_ns, meta.start_ns + kMaxWindow);
}

}  // namespace

Result<Recording> load_recording(const std::string& path) {
  auto reader = recording::Reader::open(path);
  if (!reader) return reader.error();
  Recording recording;
  while (auto chunk = reader->next()) {
    if (chunk->chunk_class == recording::ChunkClass::kMeta) {
      read_meta_chunk(recording, chunk->bytes);
      continue;
    }
    const bool whole =
        recording::for_each_record(chunk->bytes, [&](std::span<const std::byte> bytes) {
          recording.stats.records++;
          if (!add_record(recording, bytes)) recording.stats.bad_records++;
        });
    if (!whole) recording.stats.bad_records++;
  }
  recording.stats.unknown_chunks = reader->stats().unknown_chunks;
  recording.stats.damaged_chunks = reader->stats().damaged_chunks;
  recording.stats.cut = reader->stats().cut;

  auto by_time = [](const auto& a, const auto& b) { return a.h.ts < b.h.ts; };
  std::stable_sort(recording.waits.begin(), recording.waits.end(), by_time);
  std::stable_sort(recording.slices.begin(), recording.slices.end(), by_time);
  std::stable_sort(recording.migrations.begin(), recording.migrations.end(), by_time);
  std::stable_sort(recording.sums.begin(), recording.sums.end(),
                   [](const auto& a, const auto& b) { return a.head.h.ts < b.head.h.ts; });
  std::stable_sort(recording.api.begin(), recording.api.end(), by_time);
  close_window(recording);
  return recording;
}

}  // namespace whystall::load
