// SPDX-License-Identifier: Apache-2.0
#include "schedule_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace gpusim {
namespace {

const char* kind_name(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel:
      return "kernel";
    case OpKind::kHostToDevice:
      return "h2d";
    case OpKind::kDeviceToHost:
      return "d2h";
    case OpKind::kDeviceToDevice:
      return "d2d";
    case OpKind::kMemset:
      return "memset";
    case OpKind::kPeer:
      return "p2p";
    case OpKind::kHost:
      return "host";
    case OpKind::kSlices:
      break;
  }
  return "unknown";
}

void append_string(std::string& to, std::string_view text) {
  to += '"';
  for (const char c : text) {
    // Bytes beyond ASCII are escaped too: a kernel's name need not be valid UTF-8.
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (byte < 0x20 || byte > 0x7e) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned int>(byte));
      to += escape;
    } else {
      to += c;
    }
  }
  to += '"';
}

}  // namespace

ScheduleWriter::~ScheduleWriter() {
  if (fd_ >= 0) close(fd_);
}

bool ScheduleWriter::open(const std::string& path, const DeviceConfig& config, int64_t start_ns) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) return false;
  pending_ = R"({"gpusim_schedule":1,"device":)";
  append_string(pending_, config.name);
  pending_ += ",\"start_ns\":" + std::to_string(start_ns) + "}\n";
  return flush();
}

void ScheduleWriter::add(const OpRecord& op) {
  if (op.kind == OpKind::kSlices) return add_slices(op);
  char text[256];
  std::snprintf(text, sizeof(text),
                R"({"op":%)" PRIu64
                R"(,"pid":%u,"tid":%u,"ctx":%u,"stream":%u,"kind":"%s","name":)",
                next_++, op.pid, op.tid, op.context, op.stream, kind_name(op.kind));
  pending_ += text;
  append_string(pending_, op.name);
  std::snprintf(text, sizeof(text),
                R"(,"bytes":%)" PRIu64 R"(,"api_ns":%)" PRId64 R"(,"start_ns":%)" PRId64
                R"(,"end_ns":%)" PRId64,
                op.bytes, op.api_ns, op.start_ns, op.end_ns);
  pending_ += text;
  if (op.graph != 0) pending_ += ",\"graph\":" + std::to_string(op.graph);
  if (op.slice_records > 0) {
    pending_ += ",\"slices\":[";
    slice_records_ = op.slice_records;
  } else {
    pending_ += "}\n";
  }
}

void ScheduleWriter::add_slices(const OpRecord& op) {
  Reservation pieces[kPiecesPerRecord];
  std::memcpy(pieces, op.name, sizeof(pieces));
  for (uint64_t i = 0; i < op.bytes; ++i) {
    if (pending_.back() == ']') pending_ += ',';
    pending_ += '[' + std::to_string(pieces[i].start_ns) + ',' + std::to_string(pieces[i].end_ns);
    pending_ += ']';
  }
  if (--slice_records_ == 0) pending_ += "]}\n";
}

bool ScheduleWriter::flush() {
  size_t written = 0;
  while (written < pending_.size()) {
    const ssize_t n = write(fd_, pending_.data() + written, pending_.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    written += static_cast<size_t>(n);
  }
  pending_.clear();
  return true;
}

}  // namespace gpusim
