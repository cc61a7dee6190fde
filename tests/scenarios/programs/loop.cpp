// SPDX-License-Identifier: Apache-2.0
//
// loop --mode MODE ...: the target of the scenarios. Each step does the mode's host work, launches
// one kernel on the device and waits for it, so the device is idle exactly while the host work
// lasts:
//
//   none         nothing
//   read         the main thread reads one cold file of --dir
//   worker-read  a worker process reads one cold file of --dir and the main thread waits for it;
//                --idle-worker DIR: a second worker does the same at the same time, nobody waits
//                for it
//   lock         the main thread asks for a mutex whose holder sleeps --host-ms
//   cpu          the main thread computes for --host-ms of its CPU time
//
// Prints one line of JSON once it runs steadily and one at its end, which is SIGTERM, SIGINT or the
// end of its standard input. What prepares the next step is done while the device works.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>

#include "driver.h"
#include "holder.h"
#include "host_work.h"
#include "options.h"
#include "reader.h"

namespace loop {
namespace {

constexpr int kWarmUpSteps = 3;

volatile sig_atomic_t stopped = 0;

void watch_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { stopped = 1; };
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// A pipe whose writer went away. /dev/null and a terminal never hang up.
bool input_ended() {
  pollfd input{STDIN_FILENO, 0, 0};
  return poll(&input, 1, 0) > 0 && (input.revents & POLLHUP) != 0;
}

struct Parts {
  std::unique_ptr<Worker> worker, idle_worker;
  std::optional<ColdFiles> files;
  std::optional<Holder> holder;
};

// Workers first: a process that has threads or a device must not fork.
void make_parts(const Options& options, Parts& parts) {
  if (options.mode == Mode::kWorkerRead) {
    parts.worker = std::make_unique<Worker>(options.directory, "worker");
    if (!options.idle_directory.empty()) {
      parts.idle_worker = std::make_unique<Worker>(options.idle_directory, "idle-worker");
    }
  }
  if (options.mode == Mode::kRead) parts.files.emplace(options.directory);
  if (options.mode == Mode::kLock) parts.holder.emplace(options.host_ns);
}

void work(const Options& options, Parts& parts) {
  switch (options.mode) {
    case Mode::kNone:
      break;
    case Mode::kRead:
      parts.files->read_next();
      break;
    case Mode::kWorkerRead:
      // The decoy first: it is busy the whole time that the other is, and done before it.
      if (parts.idle_worker) parts.idle_worker->ask();
      parts.worker->ask();
      parts.worker->wait_for_answer();
      break;
    case Mode::kLock:
      parts.holder->contend();
      break;
    case Mode::kCpu:
      compute_for(options.host_ns);
      break;
  }
}

void prepare_next(Parts& parts) {
  if (parts.files) parts.files->drop();
  if (parts.idle_worker) parts.idle_worker->discard_answers();
  if (parts.holder) parts.holder->arm();
  if (input_ended()) stopped = 1;
}

void print_ready(const Parts& parts) {
  std::printf("{\"ready\":true,\"pid\":%d,\"main_tid\":%d", getpid(), gettid());
  if (parts.holder) {
    std::printf(",\"holder_tid\":%d,\"lock_address\":\"0x%" PRIxPTR "\"", parts.holder->tid(),
                reinterpret_cast<std::uintptr_t>(parts.holder->address()));
  }
  std::printf(",\"worker_pids\":[");
  if (parts.worker) std::printf("%d", parts.worker->pid());
  if (parts.idle_worker) std::printf(",%d", parts.idle_worker->pid());
  std::printf("]}\n");
  std::fflush(stdout);
}

int run(const Options& options) {
  watch_signals();
  Parts parts;
  make_parts(options, parts);
  Driver driver;
  prctl(PR_SET_TIMERSLACK, 1UL);

  std::int64_t steps = 0;
  for (; stopped == 0; ++steps) {
    work(options, parts);
    driver.launch(static_cast<std::uint64_t>(options.kernel_ns));
    prepare_next(parts);
    // Between a launch and its sync, so that neither stands in a stall.
    if (steps == 0) lock_memory();
    if (steps == kWarmUpSteps) print_ready(parts);
    driver.synchronize();
  }
  std::printf("{\"ended\":true,\"steps\":%" PRId64 ",\"launches\":%" PRId64 "}\n", steps, steps);
  return 0;
}

}  // namespace
}  // namespace loop

int main(int argc, char** argv) {
  return loop::run(loop::parse_options(argc, argv));
}
