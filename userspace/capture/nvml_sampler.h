// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/time.h"
#include "capture/nvml_facts.h"

namespace whystall::capture {

/// The program beside whystall that reads NVML (userspace/nvml/sampler.c). Nothing here waits for
/// it but end(), and that for a bounded time: NVML can block for seconds. The helper dies with this
/// thread, however that ends.
class NvmlSampler {
 public:
  NvmlSampler() = default;
  NvmlSampler(const NvmlSampler&) = delete;
  ~NvmlSampler() { end(0); }

  /// Starts it; whether it works is told later. NVML may also lie in the root directory of `target`
  /// (0: none).
  void start(pid_t target);

  /// Takes what it has written meanwhile.
  void step();

  /// Asks it to end, without waiting.
  void ask_to_end() { input_.reset(); }
  /// Gives it at most so long to end, then kills it. One that even then is stuck inside the
  /// driver is left behind; it ends when the driver lets go.
  void end(int within_ms);

  /// 0 when it could not be started.
  pid_t pid() const { return pid_; }
  NvmlFacts& facts() { return facts_; }

 private:
  void take(std::string_view text);
  bool reap(int within_ms);

  pid_t pid_ = 0;
  bool reaped_ = false;
  int status_ = 0;  // as waitpid() says
  Fd input_, output_, pidfd_;
  std::string line_;
  bool too_long_ = false;  // the rest of this line is passed over
  NvmlFacts facts_;
};

}  // namespace whystall::capture
