// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace whystall {

/// What went wrong, as the exit code that the program ends with (design: 1 usage, 2 cannot trace, 3
/// target gone before anything was recorded, 4 recording incomplete, 5 file not readable).
enum class ErrorCode {
  kUsage = 1,
  kCannotTrace = 2,
  kTargetGone = 3,
  kIncomplete = 4,
  kUnreadable = 5
};

/// One true sentence for the user, without a full stop, saying why and, where it can, what to do.
struct Error {
  ErrorCode code;
  std::string text;
};

/// A value, or why there is none. Must be looked at.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<T>(state_); }
  const T& value() const { return std::get<T>(state_); }
  T* operator->() { return &value(); }
  T& operator*() { return value(); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

struct Nothing {};
using Status = Result<Nothing>;

}  // namespace whystall
