// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace faults {

// Ground truth as NDJSON. Each line is one append-mode write, so lines of several threads never mix
// and a killed injector leaves whole lines.
class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  ~EventLog() {
    if (fd_ >= 0) close(fd_);
  }

  bool open(const std::string& path) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    return fd_ >= 0;
  }
  bool enabled() const { return fd_ >= 0; }

  // `line` without its newline. A full disk loses the line and nothing else.
  void write(std::string line) const {
    line += '\n';
    if (fd_ >= 0 && ::write(fd_, line.data(), line.size()) < 0) return;
  }

 private:
  int fd_ = -1;
};

// JSON string with its quotes. Bytes above 0x7f pass through: file names here are our own.
inline std::string json_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20) {
      out += "\\u00";
      out += kHex[u >> 4];
      out += kHex[u & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace faults
