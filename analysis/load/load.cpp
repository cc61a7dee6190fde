// SPDX-License-Identifier: Apache-2.0
#include "load/load.h"

#include <limits>

#include "load/loader.h"
#include "recording/reader.h"

namespace whystall::load {

Result<model::Recording> load_recording(const std::string& path, std::uint64_t max_memory) {
  auto reader = recording::Reader::open(path);
  if (!reader) return reader.error();
  Loader loader(max_memory, std::numeric_limits<std::uint64_t>::max());
  recording::Chunk chunk;
  while (reader->next(chunk)) {
    if (!loader.take(chunk)) return too_much_memory(path, max_memory);
  }
  return loader.finish(reader->stats());
}

}  // namespace whystall::load
