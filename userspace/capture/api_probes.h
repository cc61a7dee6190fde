// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "capture/driver_api.h"

struct bpf_link;
struct bpf_program;

namespace whystall::capture {

/// The programs of cuda.bpf.c.
struct ApiPrograms {
  bpf_program* submit;
  bpf_program* sync;
  bpf_program* sync_return;
  bpf_program* query;
  bpf_program* query_return;
};

/// The programs' attach type must be chosen before the load: one link for many probes (kernel 6.6
/// and later, detached in some 40 ms) or one link for each (detached in 60 to 110 ms each).
bool kernel_has_multi_uprobes();
void prepare_api_programs(const ApiPrograms& programs, bool multi);

/// Probes that are attached; detached when this goes.
class ApiProbes {
 public:
  ApiProbes() = default;
  ApiProbes(ApiProbes&& other) noexcept { *this = std::move(other); }
  ApiProbes& operator=(ApiProbes&& other) noexcept;
  ~ApiProbes();

  /// Attaches `probes` to the library at `path`. Without multi links no more than 30 are attached,
  /// the most needed ones; `complete()` is false then. Records name the probes by numbers from
  /// `first_symbol` on. Error: cannot trace.
  static Result<ApiProbes> attach(const ApiPrograms& programs, const std::string& path,
                                  const std::vector<ApiProbe>& probes, std::size_t first_symbol,
                                  bool multi);

  bool complete() const { return complete_; }

  /// Takes the probes on queries away; the rest stays.
  void detach_queries();

 private:
  std::vector<bpf_link*> links_, query_links_;
  std::vector<Fd> multi_links_, multi_query_links_;
  bool complete_ = true;
};

}  // namespace whystall::capture
