// SPDX-License-Identifier: Apache-2.0
#include "capture/sources.h"

namespace whystall::capture {

const SourceFacts& facts_of(Source source) {
  static const std::array<SourceFacts, kSources> kFacts = {{
      {"waits",
       "waits, their objects, wakers, who ran meanwhile",
       "nothing can be explained",
       true,
       {"wst_newtask", "wst_adopt", "wst_rename", "wst_process_exit", "wst_migrate",
        "wst_wakeup_new", "wst_waking", "wst_switch", "wst_settle", "wst_dump", "wst_journals"}},
      {"wake context",
       "whether a task or an interrupt woke a thread",
       "an interrupt would be blamed on whoever ran there",
       true,
       {"wst_irq_handler_entry", "wst_irq_handler_exit", "wst_call_function_entry",
        "wst_call_function_exit", "wst_call_function_single_entry", "wst_call_function_single_exit",
        "wst_irq_work_entry", "wst_irq_work_exit", "wst_hrtimer_expire_entry",
        "wst_hrtimer_expire_exit", "wst_softirq_entry", "wst_softirq_exit"}},
      {"other ends",
       "who holds the other end of a pipe or a socket",
       "a chain that ends at a pipe names nobody behind it",
       false,
       {"wst_ends"}},
      {"on-CPU samples",
       "where target threads are while they run",
       "polling cannot be told from work",
       false,
       {"wst_on_cpu"}},
      {"page faults",
       "which mapped file a thread waits for",
       "a wait for a mapped file is memory.fault, and no file is named",
       false,
       {"wst_filemap_fault"}},
      {"driver calls",
       "when the device got work, and when it was done",
       "the device's idle time cannot be seen",
       false,
       {"wst_api_submit", "wst_api_sync", "wst_api_sync_return"}},
      {"driver queries",
       "what the program's own polling proves of the device",
       "work that is polled for is 'not known' until a synchronise",
       false,
       {"wst_api_query", "wst_api_query_return"}},
  }};
  return kFacts[static_cast<std::size_t>(source)];
}

std::string_view state_name(SourceState state) {
  switch (state) {
    case SourceState::kLive:
      return "live";
    case SourceState::kDegraded:
      return "degraded";
    case SourceState::kMissing:
      return "missing";
  }
  return "";
}

}  // namespace whystall::capture
