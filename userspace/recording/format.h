// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace whystall::recording {

/// The recording file (.wst): one file header, then chunks until the end. Little endian. Each chunk
/// stands by itself, so a file cut anywhere reads up to its last whole chunk. A reader takes any
/// minor version of its major one: it skips and counts chunks whose class it does not know, and
/// takes of a record the part that it knows.
///
/// Version log
///   1.0  first: META chunks (JSON objects; later keys win) and EVENTS chunks (records of
///        bpf/abi/events.h)
///   1.1  FREE chunks: room in a recording of bounded size whose oldest chunks have made way. The
///        header's last_ns is the time of the latest record that is gone: what lies after it is
///        there, what lies before it is not whole. The stored bytes mean nothing: the checksum is
///        of the header alone, and they may reach beyond the end of the file. Chunks are then no
///        longer in the order of time, and TASK records, FILE records and API records of the
///        calls WST_API_CONTEXT and WST_API_CONTEXT_NEW may repeat, with their first time. A reader
///        of 1.0 counts a FREE chunk as damaged and reads the rest.
///   1.2  API records tell of runs of calls, of queries and of long calls (88 bytes, from 56).
///   1.3  samples tell of a stub of the C library (56 bytes, from 40).
///   META:
///        what `nvml` lists (devices, samples, processes, memory) adds up; its state is the one
///        with the latest at_ns. An older reader passes it over.
constexpr std::array<char, 8> kMagic = {'w', 'h', 'y', 's', 't', 'a', 'l', 'l'};
constexpr std::uint16_t kMajor = 1;
constexpr std::uint16_t kMinor = 3;

struct FileHeader {
  std::array<char, 8> magic;
  std::uint16_t major;
  std::uint16_t minor;
  std::uint32_t reserved;
};
static_assert(sizeof(FileHeader) == 16);

enum class ChunkClass : std::uint16_t { kMeta = 1, kEvents = 2, kFree = 3 };

constexpr std::uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"
constexpr std::uint16_t kChunkZstd = 1;
/// Bounds for a reader: nothing that a writer makes comes near them.
constexpr std::uint32_t kMaxChunkBytes = 64u << 20;

struct ChunkHeader {
  std::uint32_t magic;
  std::uint16_t chunk_class;
  std::uint16_t flags;
  std::uint32_t stored_bytes;  // what follows this header
  std::uint32_t raw_bytes;     // after decompression
  std::uint32_t count;         // records
  std::uint32_t checksum;      // CRC-32 of this header with 0 here, then of the stored bytes
  std::int64_t first_ns;       // of the records' times
  std::int64_t last_ns;
};
static_assert(sizeof(ChunkHeader) == 40);

std::uint32_t chunk_checksum(ChunkHeader header, std::span<const std::byte> stored);

}  // namespace whystall::recording
