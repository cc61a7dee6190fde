// SPDX-License-Identifier: Apache-2.0
#include "load/file_source.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "load/believable.h"
#include "load/loader.h"
#include "recording/reader.h"

namespace whystall::load {

namespace {

using model::Recording;
using model::TimeNs;

constexpr TimeNs kFirst = std::numeric_limits<TimeNs>::min();
constexpr TimeNs kLast = std::numeric_limits<TimeNs>::max();

Error changed(const std::string& path) {
  return {ErrorCode::kUnreadable, path + " has changed while it was read"};
}

/// Cuts the time so that about as many bytes lie in each part.
std::vector<TimeNs> cut(std::vector<Place> places, std::uint64_t slab_bytes) {
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.first < b.first; });
  std::vector<TimeNs> begins = {kFirst};
  std::uint64_t bytes = 0;
  for (const Place& place : places) {
    if (bytes >= slab_bytes && place.first > begins.back()) {
      begins.push_back(place.first);
      bytes = 0;
    }
    bytes += place.bytes;
  }
  return begins;
}

class InMemory final : public Source {
 public:
  explicit InMemory(Recording recording) : recording_(std::move(recording)) {}
  const Recording& whole() const override { return recording_; }
  std::span<const TimeNs> slabs() const override { return begins_; }
  Result<const Recording*> states(std::size_t, model::DurationNs,
                                  const std::unordered_set<model::Tid>*) override {
    return &recording_;
  }

 private:
  const Recording recording_;
  const std::vector<TimeNs> begins_ = {kFirst};
};

class InFile final : public Source {
 public:
  InFile(std::string path, recording::Reader reader, Recording whole,
         std::unique_ptr<const Recording> callers, std::vector<Place> places,
         const SourceLimits& limits)
      : path_(std::move(path)),
        reader_(std::move(reader)),
        whole_(std::move(whole)),
        callers_(std::move(callers)),
        places_(std::move(places)),
        begins_(cut(places_, limits.slab_bytes)),
        max_memory_(limits.max_memory) {}

  const Recording& whole() const override { return whole_; }
  std::span<const TimeNs> slabs() const override { return begins_; }
  std::unique_ptr<const Recording> take_callers() override { return std::move(callers_); }

  Result<const Recording*> states(std::size_t slab, model::DurationNs before_ns,
                                  const std::unordered_set<model::Tid>* only) override {
    const TimeNs gone = whole_.stats.dropped_ns > 0 ? whole_.meta.start_ns + 1 : 0;
    const TimeNs lo = slab == 0 ? gone : std::max(gone, begins_[slab] - before_ns);
    const TimeNs hi = slab + 1 < begins_.size() ? begins_[slab + 1] : kLast;
    slab_.waits.clear();
    std::move(slab_.sums.begin(), slab_.sums.end(), std::back_inserter(spare_sums_));
    slab_.sums.clear();
    slab_.slices.clear();
    slab_.migrations.clear();
    std::uint64_t memory = 0;
    for (const Place& place : places_) {
      if (place.last < lo || place.first >= hi) continue;
      if (!reader_.read_again(place.at, chunk_)) return changed(path_);
      recording::for_each_record(chunk_.bytes, [&](std::span<const std::byte> bytes) {
        if (add(bytes, lo, hi, only)) memory += bytes.size();
      });
      if (memory > max_memory_) return too_much_memory(path_, max_memory_);
    }
    return &slab_;
  }

 private:
  bool add(std::span<const std::byte> bytes, TimeNs lo, TimeNs hi,
           const std::unordered_set<model::Tid>* only) {
    const TimeNs at = time_of(bytes);
    if (at < lo || at >= hi) return false;
    switch (kind_of(bytes)) {
      case WST_WAIT:
        return add_wait(bytes, only);
      case WST_SUMS:
        return add_sums(bytes, only);
      case WST_SLICE:
        return !only && append(slab_.slices, bytes);
      case WST_MIGRATE:
        return append(slab_.migrations, bytes);
      default:
        return false;  // nothing asks for it
    }
  }

  template <typename Record>
  static bool append(std::vector<Record>& records, std::span<const std::byte> bytes) {
    Record record;
    if (!read_record(record, bytes)) return false;
    records.push_back(record);
    return true;
  }

  bool add_wait(std::span<const std::byte> bytes, const std::unordered_set<model::Tid>* only) {
    wst_wait wait;
    if (!read_record(wait, bytes) || (only && !only->contains(wait.tid))) return false;
    slab_.waits.push_back(wait);
    return true;
  }

  /// What the entries took before is used again.
  bool add_sums(std::span<const std::byte> bytes, const std::unordered_set<model::Tid>* only) {
    if (spare_sums_.empty()) spare_sums_.emplace_back();
    model::Sums& sums = spare_sums_.back();
    if (!read_sums(sums, bytes) || (only && !only->contains(sums.head.tid))) return false;
    slab_.sums.push_back(std::move(sums));
    spare_sums_.pop_back();
    return true;
  }

  std::string path_;
  recording::Reader reader_;
  const Recording whole_;
  std::unique_ptr<const Recording> callers_;
  const std::vector<Place> places_;  // in the order of the file
  const std::vector<TimeNs> begins_;
  std::uint64_t max_memory_;
  Recording slab_;
  std::vector<model::Sums> spare_sums_;
  recording::Chunk chunk_;
};

}  // namespace

Result<std::unique_ptr<Source>> open_source(const std::string& path, const SourceLimits& limits) {
  auto reader = recording::Reader::open(path);
  if (!reader) return reader.error();
  Loader loader(limits.max_memory, 2 * limits.slab_bytes, limits.caller_bytes);
  std::vector<Place> places;
  recording::Chunk chunk;
  while (reader->next(chunk)) {
    if (!loader.take(chunk)) return too_much_memory(path, limits.max_memory);
    if (chunk.chunk_class != recording::ChunkClass::kEvents) continue;
    if (loader.place().bytes > 0) places.push_back(loader.place());
  }
  const bool in_memory = loader.has_states();
  if (!in_memory) {
    std::vector<std::uint64_t> at;
    for (const Place& place : places) at.push_back(place.at);
    const auto read = [&](std::uint64_t place, recording::Chunk& again) {
      return reader->read_again(place, again);
    };
    if (!loader.take_missed(at, read)) return changed(path);
  }
  Recording recording = loader.finish(reader->stats());
  if (in_memory) return std::unique_ptr<Source>(std::make_unique<InMemory>(std::move(recording)));
  return std::unique_ptr<Source>(std::make_unique<InFile>(
      path, std::move(*reader), std::move(recording), loader.callers(), std::move(places), limits));
}

}  // namespace whystall::load
