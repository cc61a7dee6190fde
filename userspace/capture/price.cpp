// SPDX-License-Identifier: Apache-2.0
#include "capture/price.h"

#include <sched.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>
#include <utility>

#include "base/pipe.h"
#include "target/prologue.h"

namespace whystall::capture {

namespace {

constexpr int kRoundTrips = 2'000;
constexpr int kCalls = 5'000;
constexpr int kTries = 7;
constexpr std::size_t kPrologueBytes = 64;

std::atomic<int> calls_made;

}  // namespace

/// Not inlined, and with an instruction that the kernel emulates, as exported functions have.
extern "C" __attribute__((noinline, noclone)) int whystall_priced_call(int value) {
  asm volatile("nop");
  calls_made.fetch_add(value, std::memory_order_relaxed);
  return value;
}

namespace {

double cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

bool give(int fd) {
  const char byte = 0;
  return write(fd, &byte, 1) == 1;
}
bool take(int fd) {
  char byte;
  return read(fd, &byte, 1) == 1;
}

double best_wait() {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return -1;
  std::thread peer([&] {
    while (take(there[0]) && give(back[1])) {
    }
  });
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kTries; i++) {
    const double begin = cpu_ns();
    for (int n = 0; n < kRoundTrips; n++) {
      give(there[1]);
      take(back[0]);
    }
    best = std::min(best, (cpu_ns() - begin) / (2.0 * kRoundTrips));
  }
  close(there[1]);
  peer.join();
  for (const int fd : {there[0], back[0], back[1]}) close(fd);
  return best;
}

double best_call() {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kTries; i++) {
    const double begin = cpu_ns();
    for (int n = 0; n < kCalls; n++) whystall_priced_call(1);
    best = std::min(best, (cpu_ns() - begin) / kCalls);
  }
  return best;
}

[[noreturn]] void serve(int ask, int answer) {
  // A hand-over on one CPU is a wait; between two it may be a spin of the idle loop.
  const int cpu = sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(std::max(0, cpu)), &one);
  sched_setaffinity(0, sizeof one, &one);
  char what;
  while (read(ask, &what, 1) == 1) {
    const double ns = what == 'w' ? best_wait() : best_call();
    if (write(answer, &ns, sizeof ns) != sizeof ns) break;
  }
  _exit(0);
}

}  // namespace

PricedLoad::PricedLoad(pid_t pid, Fd ask, Fd answer)
    : pid_(pid), ask_(std::move(ask)), answer_(std::move(answer)) {}

PricedLoad::PricedLoad(PricedLoad&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      ask_(std::move(other.ask_)),
      answer_(std::move(other.answer_)) {}

PricedLoad::~PricedLoad() {
  if (pid_ < 0) return;
  ask_.reset();
  waitpid(pid_, nullptr, 0);
}

Result<PricedLoad> PricedLoad::start() {
  auto ask = make_pipe();
  if (!ask) return ask.error();
  auto answer = make_pipe();
  if (!answer) return answer.error();
  const pid_t pid = fork();
  if (pid < 0)
    return Error{ErrorCode::kCannotTrace,
                 std::string("cannot start a process: ") + std::strerror(errno)};
  if (pid == 0) {
    ask->write.reset();
    answer->read.reset();
    serve(ask->read.get(), answer->write.get());
  }
  return PricedLoad(pid, std::move(ask->write), std::move(answer->read));
}

double PricedLoad::measure(char what) {
  double ns = -1;
  if (write(ask_.get(), &what, 1) != 1) return -1;
  return read(answer_.get(), &ns, sizeof ns) == sizeof ns ? ns : -1;
}

double PricedLoad::wait_ns() {
  return measure('w');
}
double PricedLoad::call_ns() {
  return measure('c');
}

Result<CallSite> call_site() {
  const auto address = reinterpret_cast<std::uintptr_t>(&whystall_priced_call);
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t offset = 0;
    char dash, permissions[8];
    std::istringstream fields(line);
    fields >> std::hex >> begin >> dash >> end >> permissions >> offset;
    if (!fields || address < begin || address >= end) continue;
    const auto* code = reinterpret_cast<const std::byte*>(address);
    const std::size_t bytes = std::min<std::size_t>(kPrologueBytes, end - address);
    return CallSite{"/proc/self/exe",
                    address - begin + offset + target::probe_offset({code, bytes})};
  }
  return Error{ErrorCode::kCannotTrace, "this program's own code is not mapped from its file"};
}

}  // namespace whystall::capture
