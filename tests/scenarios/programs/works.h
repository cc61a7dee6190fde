// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "options.h"
#include "work.h"

namespace loop {

// What one thread does by itself.
std::unique_ptr<Work> make_none(const Part&);
std::unique_ptr<Work> make_cpu(const Part&);      // computes
std::unique_ptr<Work> make_sleep(const Part&);    // one sleep
std::unique_ptr<Work> make_backoff(const Part&);  // sleeps that get longer, with a look in between
std::unique_ptr<Work> make_bursts(const Part&);   // bursts of computing with rests, without an end

// With a file of the part's directory, the next one in each step.
std::unique_ptr<Work> make_read(const Part&);   // reads it, cold
std::unique_ptr<Work> make_write(const Part&);  // writes it anew
std::unique_ptr<Work> make_fsync(const Part&);  // as write, and waits for it to be stored
std::unique_ptr<Work> make_open(const Part&);   // opens and closes it
std::unique_ptr<Work> make_stat(const Part&);   // asks for its attributes

// With another process.
std::unique_ptr<Work> make_stop(const Part&);   // is stopped by it for the part's time
std::unique_ptr<Work> make_stuck(const Part&);  // writes to a full pipe, once steady, for ever
std::unique_ptr<Work> make_serve(const Part&);  // waits for a client's request

}  // namespace loop
