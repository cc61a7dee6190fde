// SPDX-License-Identifier: Apache-2.0
//
// loop --mode MODE ...: the target of the scenarios. Each step does the host work of its modes, one
// after the other (modes.h), launches one kernel on the device and waits for it, so the device is
// idle exactly while the host work lasts.
//
// Prints one line of JSON once it runs steadily and one at its end, which is SIGTERM, SIGINT or the
// end of its standard input. What prepares the next step is done while the device works.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "driver.h"
#include "host_work.h"
#include "modes.h"
#include "options.h"

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

// Those that nobody waits for are asked first: they are busy the whole time that the others are.
struct Works {
  std::vector<std::unique_ptr<Work>> decoys, works;
};

// Before there is a device, which does not survive a fork.
Works make_works(const Options& options) {
  Works made;
  for (const Part& part : options.parts) {
    (part.decoy ? made.decoys : made.works).push_back(make_work(part));
  }
  return made;
}

void print_ready(const Works& works) {
  Facts facts, of_decoys("decoy_");
  for (const auto& work : works.works) work->tell(facts);
  for (const auto& work : works.decoys) work->tell(of_decoys);
  std::printf("{\"ready\":true,\"pid\":%d,\"main_tid\":%d%s%s}\n", getpid(), gettid(),
              facts.members().c_str(), of_decoys.members().c_str());
  std::fflush(stdout);
}

int run_once(const Options& options) {
  prctl(PR_SET_NAME, "child");
  for (const Part& part : options.parts) make_work(part)->run();
  return 0;
}

int run(const Options& options) {
  watch_signals();
  const Works works = make_works(options);
  Driver driver;
  prctl(PR_SET_TIMERSLACK, 1UL);

  std::int64_t steps = 0;
  for (; stopped == 0; ++steps) {
    for (const auto& work : works.decoys) work->run();
    for (const auto& work : works.works) work->run();
    driver.launch(static_cast<std::uint64_t>(options.kernel_ns));
    for (const auto& work : works.works) work->prepare();
    if (input_ended()) stopped = 1;
    // Between a launch and its sync, so that neither stands in a stall.
    if (steps == 0) lock_memory();
    if (steps == kWarmUpSteps) print_ready(works);
    driver.synchronize();
  }
  std::printf("{\"ended\":true,\"steps\":%" PRId64 ",\"launches\":%" PRId64 "}\n", steps, steps);
  std::fflush(stdout);
  _exit(0);  // the threads and the children end with the process, which some of them never do
}

}  // namespace
}  // namespace loop

int main(int argc, char** argv) {
  // What `child` starts: the work alone.
  if (argc > 1 && std::strcmp(argv[1], "--once") == 0) {
    return loop::run_once(loop::parse_options(argc - 1, argv + 1));
  }
  return loop::run(loop::parse_options(argc, argv));
}
