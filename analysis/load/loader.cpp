// SPDX-License-Identifier: Apache-2.0
#include "load/loader.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "load/believable.h"
#include "load/meta.h"
#include "load/nvml.h"

namespace whystall::load {

namespace {

using model::Recording;
using model::TimeNs;

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

model::File to_file(const wst_file& r, std::span<const std::byte> bytes) {
  const auto path = bytes.subspan(sizeof r);
  model::File file;
  file.path = join_path({reinterpret_cast<const char*>(path.data()), r.path_len});
  file.fs_type = bounded_text(r.fs_type, sizeof r.fs_type);
  file.deleted = (r.flags & WST_PATH_DELETED) != 0;
  file.truncated = (r.flags & WST_PATH_TRUNCATED) != 0;
  if (file.truncated) file.path = "…" + file.path;
  return file;
}

}  // namespace

bool Loader::take(const recording::Chunk& chunk) {
  if (chunk.chunk_class == recording::ChunkClass::kMeta) {
    if (!read_meta(recording_.meta, chunk.bytes)) recording_.stats.bad_records++;
    return true;
  }
  place_ = {chunk.at};
  const bool whole = recording::for_each_record(chunk.bytes, [&](std::span<const std::byte> bytes) {
    if (memory_ > max_memory_) return;
    recording_.stats.records++;
    if (!add_record(bytes)) recording_.stats.bad_records++;
  });
  if (!whole) recording_.stats.bad_records++;
  if (keep_states_ && state_memory_ > max_states_) drop_states();
  callers_.end_chunk(chunk.at, memory_ < max_memory_ ? max_memory_ - memory_ : 0);
  return memory_ <= max_memory_;
}

bool Loader::add_record(std::span<const std::byte> bytes) {
  switch (kind_of(bytes)) {
    case WST_TASK:
      return add_task(bytes);
    case WST_WAIT:
      return add_wait(bytes);
    case WST_SLICE:
      return add_slice(bytes);
    case WST_API:
      return add_api(bytes);
    case WST_LOSS:
      return add_to(recording_.losses, bytes);
    case WST_FILE:
      return add_file(bytes);
    case WST_SUMS:
      return add_sums(bytes);
    case WST_MIGRATE:
      return add_move(bytes);
    case WST_POLLSET:
      return add_pollset(bytes);
    case WST_END:
      return add_to(recording_.ends, bytes);
    case WST_SAMPLE:
      return add_to(recording_.samples, bytes);
    case WST_EXIT:
    case WST_QUIET:
      return true;
    default:
      recording_.stats.unknown_records++;
      return true;
  }
}

/// Of a task that is named again, the latest name counts; a recording of bounded size does not hold
/// the names in the order of time.
bool Loader::add_task(std::span<const std::byte> bytes) {
  wst_task r;
  if (!read_record(r, bytes)) return false;
  const auto [entry, added] = recording_.tasks.try_emplace(r.tid);
  if (added)
    memory_ += sizeof(*entry) + sizeof(std::pair<const model::Tid, std::uint64_t>) +
               2 * kNodeBytes + WST_COMM_LEN + kTextBytes;
  model::Task& task = entry->second;
  task.target |= (r.flags & WST_TASK_TARGET) != 0;
  std::uint64_t& at = named_[r.tid];
  if (r.h.ts < at) return true;
  at = r.h.ts;
  task.tid = r.tid;
  task.ns_tid = r.ns_tid;
  task.pid = r.tgid;
  task.comm = bounded_text(r.comm, sizeof r.comm);
  task.kernel = (r.flags & WST_TASK_KERNEL) != 0;
  return true;
}

bool Loader::add_api(std::span<const std::byte> bytes) {
  if (!add_to(recording_.api, bytes)) return false;
  callers_.see_call(recording_.api.back().tid);
  return true;
}

bool Loader::add_file(std::span<const std::byte> bytes) {
  if (!file_fits(bytes)) return false;
  const auto r = copy_record<wst_file>(bytes);
  const auto [entry, added] = recording_.files.try_emplace({r.ino, r.dev, r.generation});
  if (added) memory_ += sizeof(*entry) + kNodeBytes + sizeof r.fs_type + 2 * kTextBytes;
  memory_ -= entry->second.path.capacity();
  entry->second = to_file(r, bytes);
  memory_ += entry->second.path.capacity();
  return true;
}

bool Loader::add_sums(std::span<const std::byte> bytes) {
  if (!keep_states_) {
    model::Sums& sums = passing_sums_;
    if (!read_sums(sums, bytes)) return false;
    place_.note(sums.head.h);
    for (const wst_sum& sum : sums.entries) recording_.last_wakes.see(sums.head, sum);
    callers_.add(sums);
    return true;
  }
  model::Sums& sums = recording_.sums.emplace_back();
  if (!read_sums(sums, bytes)) {
    recording_.sums.pop_back();
    return false;
  }
  place_.note(sums.head.h);
  add_state_memory(kVectorFactor * sizeof sums + sums.head.count * sizeof(wst_sum) + kNodeBytes);
  return true;
}

bool Loader::add_wait(std::span<const std::byte> bytes) {
  wst_wait wait;
  if (!read_record(wait, bytes)) return false;
  place_.note(wait.h);
  last_ns_ = std::max(last_ns_, static_cast<TimeNs>(wait.h.ts));
  if (keep_states_) {
    keep_state(recording_.waits, wait);
    return true;
  }
  recording_.last_wakes.see(wait);
  recording_.expired_waits.see(wait);
  callers_.add(wait);
  return true;
}

/// By its main thread's latest name, else by the first name of any that ran.
bool Loader::add_slice(std::span<const std::byte> bytes) {
  wst_slice slice;
  if (!read_record(slice, bytes)) return false;
  place_.note(slice.h);
  const bool main = slice.tid == slice.tgid;
  const auto [known, fresh] = runners_.try_emplace(slice.tgid);
  Runner& runner = known->second;
  if (fresh) memory_ += sizeof *known + kNodeBytes;
  if (fresh || (main && (!runner.main || slice.h.ts >= runner.at)) ||
      (!main && !runner.main && slice.h.ts < runner.at)) {
    runner.at = slice.h.ts;
    runner.main = main;
    std::memcpy(runner.comm, slice.comm, sizeof runner.comm);
  }
  if (keep_states_) keep_state(recording_.slices, slice);
  return true;
}

bool Loader::add_move(std::span<const std::byte> bytes) {
  wst_migrate move;
  if (!read_record(move, bytes)) return false;
  place_.note(move.h);
  if (keep_states_)
    keep_state(recording_.migrations, move);
  else
    callers_.add(move);
  return true;
}

bool Loader::add_pollset(std::span<const std::byte> bytes) {
  wst_pollset set;
  if (!read_record(set, bytes)) return false;
  if (keep_states_) keep_state(recording_.pollsets, set);
  return true;
}

void Loader::add_state_memory(std::uint64_t bytes) {
  memory_ += bytes;
  state_memory_ += bytes;
}

void Loader::drop_states() {
  keep_states_ = false;
  for (const wst_wait& wait : recording_.waits) {
    recording_.last_wakes.see(wait);
    recording_.expired_waits.see(wait);
    callers_.add(wait);
  }
  for (const model::Sums& sums : recording_.sums) {
    for (const wst_sum& sum : sums.entries) recording_.last_wakes.see(sums.head, sum);
    callers_.add(sums);
  }
  for (const wst_migrate& move : recording_.migrations) callers_.add(move);
  memory_ -= state_memory_;
  recording_.waits = {};
  recording_.slices = {};
  recording_.sums = {};
  recording_.migrations = {};
  recording_.pollsets = {};
}

/// The oldest records of a recording of bounded size have made way: what lies before the time from
/// which all are there is left out, and the window begins there. Which context each thread had made
/// its own is known from before.
void Loader::begin_where_whole(TimeNs gone_until) {
  recording_.stats.dropped_ns = move_start(recording_.meta, gone_until);
  if (recording_.stats.dropped_ns == 0) return;
  gone_until_ = gone_until;
  const auto gone = [&](const auto& r) { return static_cast<TimeNs>(r.h.ts) <= gone_until; };
  std::erase_if(recording_.waits, gone);
  std::erase_if(recording_.slices, gone);
  std::erase_if(recording_.migrations, gone);
  std::erase_if(recording_.pollsets, gone);
  std::erase_if(recording_.samples, gone);
  std::erase_if(recording_.sums, [&](const model::Sums& sums) { return gone(sums.head); });
  std::erase_if(recording_.api,
                [&](const wst_api& call) { return gone(call) && call.call != WST_API_CONTEXT; });
  std::erase_if(recording_.losses, [&](const wst_loss& loss) {
    return static_cast<TimeNs>(loss.last_ns) <= gone_until;
  });
}

Recording Loader::finish(const recording::ReadStats& read) {
  recording_.stats.unknown_chunks = read.unknown_chunks;
  recording_.stats.damaged_chunks = read.damaged_chunks;
  recording_.stats.cut = read.cut;
  begin_where_whole(read.gone_until_ns);

  auto by_time = [](const auto& a, const auto& b) { return a.h.ts < b.h.ts; };
  std::stable_sort(recording_.waits.begin(), recording_.waits.end(), by_time);
  std::stable_sort(recording_.slices.begin(), recording_.slices.end(), by_time);
  std::stable_sort(recording_.migrations.begin(), recording_.migrations.end(), by_time);
  std::stable_sort(recording_.sums.begin(), recording_.sums.end(),
                   [](const auto& a, const auto& b) { return a.head.h.ts < b.head.h.ts; });
  std::stable_sort(recording_.api.begin(), recording_.api.end(), by_time);
  sort_samples(recording_.meta.nvml);
  if (!keep_states_) {
    for (const auto& [pid, runner] : runners_)
      recording_.runners[pid] = bounded_text(runner.comm, sizeof runner.comm);
  }
  TimeNs last = last_ns_;
  if (!recording_.api.empty())
    last = std::max(last, static_cast<TimeNs>(recording_.api.back().h.ts));
  close_window(recording_.meta, recording_.stats, last);
  return std::move(recording_);
}

Error too_much_memory(const std::string& path, std::uint64_t max_memory) {
  const std::string limit = format("%.1f GiB", static_cast<double>(max_memory) / (1u << 30));
  return {ErrorCode::kUnreadable, "loading " + path + " would take more than the " + limit +
                                      " of memory that it may; record for a shorter time, or bound "
                                      "the recording with --max-size"};
}

}  // namespace whystall::load
