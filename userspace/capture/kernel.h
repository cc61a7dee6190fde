// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "abi/events.h"
#include "base/result.h"
#include "capture/api_probes.h"
#include "capture/sources.h"

namespace whystall::capture {

/// How often the programs of a source ran and how long, since the load, while the kernel counted.
struct ProgramCost {
  std::uint64_t runs = 0;
  std::uint64_t run_ns = 0;
};
using ProgramCosts = std::array<ProgramCost, kSources>;

/// The kernel side, loaded. Detaches everything when it goes.
class Kernel {
 public:
  /// Loads the programs, gives every task of the host its storage and marks `pids` with their
  /// threads and descendants. Error: cannot trace.
  static Result<Kernel> load(const std::vector<pid_t>& pids);

  /// Attaches all hooks but those on a driver library, once. From here on the ring fills: what
  /// takes long comes before, and whoever calls this empties the ring soon. Error: cannot trace.
  Status attach();

  /// Marks more processes, with their threads and descendants. Error: cannot trace.
  Status add_targets(const std::vector<pid_t>& pids);

  /// Gives storage to tasks that got none when they were born: many at once, and there was no
  /// memory at that instant.
  Status adopt();

  /// Probes the driver library at `path`; once for each library. Records name the probes by numbers
  /// from `first_symbol` on. Error: cannot trace.
  Status attach_api(const std::string& path, const std::vector<ApiProbe>& probes,
                    std::size_t first_symbol);
  /// Whether one link holds many probes, so that there may be any number (kernel 6.6 and later).
  bool multi_probes() const;
  /// False: some library has calls that no probe sits on.
  bool api_complete() const;

  /// Hands each record in the ring to `take`, in the order of the ring. Returns how many.
  int consume(const std::function<void(std::span<const std::byte>)>& take);

  /// Has the kernel emit the waits and runs that are not over.
  Status dump_open_waits();
  /// Has it emit the journals of these tasks, each once.
  Status dump_journals(const std::vector<std::uint32_t>& tids);
  /// Has it emit who holds the ends of what was waited for.
  Status dump_ends();

  /// Detaches all but the probes on the driver, which go with this object: classic ones take up to
  /// 3 s, and even one link for all waits for every CPU on a busy host.
  void detach();

  /// Detaches on-CPU samples or driver calls, the sources that the rest can do without.
  void shed(Source source, const std::string& why);

  ProgramCosts costs() const;

  /// What found no room in the second before the one that ends now, to be called each second: one
  /// record per CPU and class that lost anything, h.ts = now.
  std::vector<wst_loss> take_losses();
  /// The same of all that was not taken yet. After detach().
  std::vector<wst_loss> take_last_losses();
  /// Whether the hooks met a task without storage in the second that is going on.
  bool misses_tasks() const;

  const SourceReports& sources() const;

  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

 private:
  struct State;
  explicit Kernel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace whystall::capture
