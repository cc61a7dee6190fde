// SPDX-License-Identifier: Apache-2.0
#include "load/file_source.h"

#include <algorithm>
#include <array>
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

bool is_state(std::uint8_t kind) {
  return kind == WST_WAIT || kind == WST_SUMS || kind == WST_SLICE || kind == WST_MIGRATE;
}

/// Where a chunk lies that holds states, how many bytes of them, and of what time.
struct Place {
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  TimeNs first = kLast, last = kFirst;
};

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

Place place_of(const recording::Chunk& chunk) {
  Place place{chunk.at};
  recording::for_each_record(chunk.bytes, [&](std::span<const std::byte> bytes) {
    wst_hdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (!is_state(header.kind) || !believable(header.ts)) return;
    place.bytes += bytes.size();
    place.first = std::min(place.first, static_cast<TimeNs>(header.ts));
    place.last = std::max(place.last, static_cast<TimeNs>(header.ts));
  });
  return place;
}

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
  /// The first ones of a slab are mostly the last ones of the slab before it too, which is asked
  /// for next. Null: it has changed.
  const recording::Chunk* chunk(const Place& place, std::size_t nth_of_slab) {
    for (const recording::Chunk& kept : kept_chunks_) {
      if (kept.at == place.at) return &kept;
    }
    constexpr std::size_t kMostBytes = std::size_t{2} << 20;
    recording::Chunk& to = nth_of_slab < kept_chunks_.size() ? kept_chunks_[nth_of_slab] : chunk_;
    to.at = 0;
    if (!reader_.read_again(place.at, to)) return nullptr;
    if (&to == &chunk_ || to.bytes.size() <= kMostBytes) return &to;
    chunk_ = std::exchange(to, {});
    return &chunk_;
  }

  bool add(std::span<const std::byte> bytes, TimeNs lo, TimeNs hi,
           const std::unordered_set<model::Tid>* only) {
    wst_hdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (!is_state(header.kind) || !believable(header.ts)) return false;
    const auto at = static_cast<TimeNs>(header.ts);
    if (at < lo || at >= hi) return false;
    switch (header.kind) {
      case WST_WAIT:
        return add_wait(bytes, only);
      case WST_SUMS:
        return add_sums(bytes, only);
      case WST_SLICE:
        return !only && append_if_fits(slab_.slices, bytes);
      case WST_MIGRATE:
        return append_if_fits(slab_.migrations, bytes);
      default:
        return false;  // nothing asks for it
    }
  }

  bool add_wait(std::span<const std::byte> bytes, const std::unordered_set<model::Tid>* only) {
    if (bytes.size() < kFirstWaitBytes) return false;
    if (only && !only->contains(number_at(bytes, offsetof(wst_wait, tid)))) return false;
    return append_if_fits(slab_.waits, bytes, kFirstWaitBytes);
  }

  /// What the entries took before is used again.
  bool add_sums(std::span<const std::byte> bytes, const std::unordered_set<model::Tid>* only) {
    if (bytes.size() < sizeof(wst_sums)) return false;
    if (only && !only->contains(number_at(bytes, offsetof(wst_sums, tid)))) return false;
    if (!sums_fit(bytes)) return false;
    model::Sums sums;
    if (!spare_sums_.empty()) {
      sums = std::move(spare_sums_.back());
      spare_sums_.pop_back();
    }
    read_sums(sums, bytes);
    slab_.sums.push_back(std::move(sums));
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
  std::array<recording::Chunk, 3> kept_chunks_;
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
    const Place place = place_of(chunk);
    if (place.bytes > 0) places.push_back(place);
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
