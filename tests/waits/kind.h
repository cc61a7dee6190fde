// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace waits {

/// Who ends the wait.
enum class Waker {
  kThread,  // the helper thread, by calling `wake`
  kChild,   // a child process, by calling `wake` or by its end
  kTimer,   // the kernel, when the time is over
  kAny,     // not checked: the kernel hands the wake-up on in its own way
};

/// What else is known of a wait, where there is more than its kind tells. Of files, descriptors.
struct Facts {
  unsigned flags = 0;            // enum wst_wait_flag: these are set
  int waker_fd = -1;             // what the waker's call is on
  std::vector<int> polled = {};  // all that the call waits for, in its order
  std::int64_t position = -1;    // in the file
  pid_t owner = 0;               // who holds the lock
  pid_t waker_tid = 0;           // instead of the helper
  bool io_worker = false;        // a worker of io_uring waits on the object, not the main thread
};

/// One way to wait. `prepare` sets the scene and returns what the wait is on; `wait` blocks until
/// `wake`, which the waker calls kWaitNs after the wait began, or until the time is over.
struct Kind {
  const char* name;
  int nr;                 // the system call it blocks in; -1: a page fault
  const char* file_kind;  // "" if it waits on no file
  Waker waker;
  std::function<int()>
      prepare;  // returns the descriptor that names the object, -1 if there is none
  std::function<void()> wait;
  std::function<void()> wake;
  std::function<Facts()> facts = nullptr;  // asked once the scene is set
};

constexpr std::int64_t kWaitNs = 30'000'000;

std::int64_t now_ns();
/// clock_nanosleep, restarted after signals.
void sleep_ns(std::int64_t ns);
/// Ends the program, saying what failed, unless `result` is not negative. Returns `result`.
long must(const char* what, long result);

/// Each file defines one group of kinds.
void add_pipes(std::vector<Kind>& kinds);
void add_sets(std::vector<Kind>& kinds);
void add_sockets(std::vector<Kind>& kinds);
void add_anonymous_files(std::vector<Kind>& kinds);
void add_locks(std::vector<Kind>& kinds);
void add_processes(std::vector<Kind>& kinds);
void add_times(std::vector<Kind>& kinds);
/// Files under `directory`, whose reads are slow.
void add_slow_files(std::vector<Kind>& kinds, const std::string& directory);
/// What not every kernel has. Return why it is missing, or nothing.
std::string add_32bit_calls(std::vector<Kind>& kinds, const std::string& directory);
std::string add_uring(std::vector<Kind>& kinds, const std::string& directory);

}  // namespace waits
