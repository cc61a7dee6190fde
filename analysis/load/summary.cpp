// SPDX-License-Identifier: Apache-2.0
#include "load/summary.h"

#include <algorithm>
#include <filesystem>

#include "load/believable.h"
#include "load/meta.h"
#include "load/nvml.h"
#include "recording/format.h"
#include "recording/reader.h"

namespace whystall::load {

namespace {

using model::LossTotal;
using model::Summary;
using model::TimeNs;

void add_loss(LossTotal& total, const wst_loss& loss) {
  const auto first = static_cast<TimeNs>(loss.first_ns), last = static_cast<TimeNs>(loss.last_ns);
  total.first_ns = total.count ? std::min(total.first_ns, first) : first;
  total.last_ns = total.count ? std::max(total.last_ns, last) : last;
  if (__builtin_add_overflow(total.count, loss.count, &total.count)) total.count = ~0ull;
}

class Counter {
 public:
  void take(std::span<const std::byte> bytes) {
    summary.stats.records++;
    const auto header = copy_record<wst_hdr>(bytes);
    if (header.kind == 0 || header.kind >= summary.records.size()) {
      summary.stats.unknown_records++;
      return;
    }
    if (!fits(header.kind, bytes)) {
      summary.stats.bad_records++;
      return;
    }
    summary.records[header.kind]++;
    if (header.kind == WST_WAIT || header.kind == WST_API)
      last_ns_ = std::max(last_ns_, static_cast<TimeNs>(header.ts));
    if (header.kind == WST_LOSS) take_loss(copy_record<wst_loss>(bytes));
  }

  void finish(const recording::ReadStats& read) {
    summary.chunks = read.chunks;
    summary.stored_bytes = read.stored_bytes;
    summary.raw_bytes = read.raw_bytes;
    summary.stats.unknown_chunks = read.unknown_chunks;
    summary.stats.damaged_chunks = read.damaged_chunks;
    summary.stats.cut = read.cut;
    summary.stats.dropped_ns = move_start(summary.meta, read.gone_until_ns);
    sort_samples(summary.meta.nvml);
    close_window(summary.meta, summary.stats, last_ns_);
  }

  Summary summary;

 private:
  void take_loss(const wst_loss& loss) {
    add_loss(loss.loss_class < summary.losses.size() ? summary.losses[loss.loss_class]
                                                     : summary.other_losses,
             loss);
  }

  TimeNs last_ns_ = 0;
};

}  // namespace

Result<Summary> summarize(const std::string& path) {
  auto reader = recording::Reader::open(path);
  if (!reader) return reader.error();
  Counter counter;
  while (auto chunk = reader->next()) {
    if (chunk->chunk_class == recording::ChunkClass::kMeta) {
      if (!read_meta(counter.summary.meta, chunk->bytes)) counter.summary.stats.bad_records++;
      continue;
    }
    if (!recording::for_each_record(chunk->bytes, [&](auto bytes) { counter.take(bytes); }))
      counter.summary.stats.bad_records++;
  }
  counter.finish(reader->stats());
  counter.summary.format_major = recording::kMajor;
  counter.summary.format_minor = reader->minor_version();
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path, ignored);
  counter.summary.file_bytes = ignored ? 0 : bytes;
  return counter.summary;
}

}  // namespace whystall::load
