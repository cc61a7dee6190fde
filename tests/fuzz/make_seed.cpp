// SPDX-License-Identifier: Apache-2.0
//
// make_seed RECORDING.wst OUT: the recording's chunks, unpacked, as the fuzzer takes them.
#include <cstdio>

#include "envelope.h"
#include "recording/reader.h"

using namespace whystall;

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  auto reader = recording::Reader::open(argv[1]);
  if (!reader) return 1;
  std::vector<std::uint8_t> seed = {fuzz::kChunks};
  while (const auto chunk = reader->next()) {
    fuzz::append(seed, fuzz::ChunkHead{static_cast<std::uint16_t>(chunk->chunk_class), 0,
                                       static_cast<std::uint32_t>(chunk->bytes.size())});
    fuzz::append_bytes(
        seed, {reinterpret_cast<const std::uint8_t*>(chunk->bytes.data()), chunk->bytes.size()});
  }
  FILE* out = std::fopen(argv[2], "w");
  if (!out) return 1;
  const bool whole = std::fwrite(seed.data(), 1, seed.size(), out) == seed.size();
  return std::fclose(out) == 0 && whole ? 0 : 1;
}
