// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loop {

// Keeps all memory of the process present, also what comes later, so that no page fault happens in
// the loop. Where it is not allowed the loop has a few faults at its start.
void lock_memory();

// Computes for this much of the thread's own CPU time, which stands still while others run.
void compute_for(std::int64_t cpu_ns);

void sleep_for(std::int64_t ns);

std::int64_t now_ns();

// Moves the calling thread; -1 leaves it where it is.
void pin_to(int cpu);

}  // namespace loop
