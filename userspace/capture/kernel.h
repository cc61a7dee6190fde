// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/events.h"
#include "base/result.h"
#include "capture/api_probes.h"

namespace whystall::capture {

/// The kernel side, loaded. Detaches everything when it goes.
class Kernel {
 public:
  /// Loads the programs, gives every task of the host its storage, marks `pids` with their threads
  /// and descendants, and attaches the scheduler and interrupt hooks. Error: cannot trace.
  static Result<Kernel> load(const std::vector<pid_t>& pids);

  /// Probes the driver library at `path`. Error: cannot trace.
  Status attach_api(const std::string& path, const std::vector<ApiProbe>& probes);
  bool api_complete() const;

  /// Hands each record in the ring to `take`, in the order of the ring. Returns how many.
  int consume(const std::function<void(std::span<const std::byte>)>& take);

  /// Has the kernel emit the waits and runs that are not over.
  Status dump_open_waits();

  /// Detaches all that detaches fast: everything but classic probes on the driver, which take up to
  /// 3 s and go with this object.
  void detach();

  /// What found no room so far: one record per CPU and class that lost anything, h.ts = now.
  std::vector<wst_loss> losses() const;

  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

 private:
  struct State;
  explicit Kernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace whystall::capture
