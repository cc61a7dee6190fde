// SPDX-License-Identifier: Apache-2.0
//
// Ways in which a thread waits for somebody else who does the work. `inner` is that work; with
// `awaited` off it is asked for and not waited for.
#pragma once

#include <memory>

#include "bell.h"
#include "options.h"
#include "work.h"

namespace loop {

// A thread of the process, asked and answering by such bells.
std::unique_ptr<Work> make_thread(const Part& inner, Bells bells, bool awaited);

// A process that is there for the whole time: a child, or one that is nobody's child.
enum class Kin { kChild, kStranger };
std::unique_ptr<Work> make_process(const Part& inner, Bells bells, Kin kin, bool awaited);

// A mutex whose holder does the work while it holds it. With `waiters` another thread asks for it
// at the same time.
std::unique_ptr<Work> make_lock(const Part& inner, bool waiters);

// Two threads that take tasks from a queue. Each step finds both busy with the work as somebody
// else's tasks, and queues a task of its own behind them, which takes no time.
std::unique_ptr<Work> make_pool(const Part& inner);

// A thread that does it ahead of time, an item after the other, and has at most two ready. Each
// step takes the next item.
std::unique_ptr<Work> make_loader(const Part& inner);

// A program that is started, does it and ends.
std::unique_ptr<Work> make_child(const Part& inner);

// A copy of the process, forked for one piece of work, that answers through a pipe and ends.
std::unique_ptr<Work> make_respawn(const Part& inner);

}  // namespace loop
