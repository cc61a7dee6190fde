// SPDX-License-Identifier: Apache-2.0
#include "recording/format.h"

#include <zlib.h>

namespace whystall::recording {

std::uint32_t chunk_checksum(ChunkHeader header, std::span<const std::byte> stored) {
  header.checksum = 0;
  uLong sum = crc32(0, reinterpret_cast<const Bytef*>(&header), sizeof header);
  if (!stored.empty()) {  // crc32() takes a null pointer for "start anew"
    sum =
        crc32(sum, reinterpret_cast<const Bytef*>(stored.data()), static_cast<uInt>(stored.size()));
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace whystall::recording
