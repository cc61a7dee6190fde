// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cinttypes>
#include <cstdio>
#include <string>

namespace loop {

// What a part of the program knows of itself and a judge needs: members of the first line's JSON.
class Facts {
 public:
  explicit Facts(std::string prefix = "") : prefix_(std::move(prefix)) {}

  void number(const std::string& name, std::int64_t value) { add(name, std::to_string(value)); }

  void address(const std::string& name, const void* value) {
    char text[32];
    std::snprintf(text, sizeof text, "\"0x%" PRIxPTR "\"", reinterpret_cast<std::uintptr_t>(value));
    add(name, text);
  }

  // Facts that another process wrote.
  void take(const std::string& members) { text_ += members; }

  // `,"name":value` for each.
  const std::string& members() const { return text_; }

 private:
  void add(const std::string& name, const std::string& value) {
    text_ += ",\"" + prefix_ + name + "\":" + value;
  }

  const std::string prefix_;
  std::string text_;
};

}  // namespace loop
