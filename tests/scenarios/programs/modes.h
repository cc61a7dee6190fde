// SPDX-License-Identifier: Apache-2.0
//
// The registry of what a step can consist of. A mode is a work, or several ("read+cpu") one after
// the other, done by the main thread, or behind one or more ways to wait for someone else who does
// it: "lock/thread/read" asks for a lock whose holder waits for a thread that reads.
#pragma once

#include <memory>
#include <string>

#include "options.h"
#include "work.h"

namespace loop {

std::unique_ptr<Work> make_work(const Part& part);

// Why this part cannot be made; empty if it can.
std::string mode_problem(const Part& part);

// All names, each with a line of text.
std::string describe_modes();

}  // namespace loop
