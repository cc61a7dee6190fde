// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace whystall::target {

/// A command that exists as a process but has not begun: it waits before its exec until it is let
/// go, so that nothing of it goes unseen. It has this program's standard streams. If it was never
/// let go, it ends with this object.
class HeldCommand {
 public:
  /// Error: cannot trace, when there is no such program or no process can be made.
  static Result<HeldCommand> hold(const std::vector<std::string>& arguments);

  /// Lets it begin. Error: cannot trace, when it cannot be run.
  Status release();

  /// Whether it has begun and not ended yet.
  bool runs() const;

  pid_t pid() const { return pid_; }

  HeldCommand(HeldCommand&& other) noexcept;
  HeldCommand& operator=(HeldCommand&&) = delete;
  ~HeldCommand();

 private:
  HeldCommand(pid_t pid, std::string name, Fd go, Fd failure);

  pid_t pid_;
  std::string name_;
  Fd go_;       // a byte lets it begin
  Fd failure_;  // an errno comes if the exec fails, the end if it succeeds
};

}  // namespace whystall::target
