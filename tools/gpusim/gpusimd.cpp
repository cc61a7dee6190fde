// SPDX-License-Identifier: Apache-2.0
// gpusimd: owns one simulated device and writes the exact schedule of everything it ran.
//
// It plans nothing: clients do, in shared memory. It takes the plans out of the ring every few
// milliseconds. When told to stop it closes the device under the lock, so that no operation can
// slip in behind the last one written.
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "device_file.h"
#include "options.h"
#include "schedule_writer.h"
#include "shared_device.h"
#include "utilization.h"

namespace gpusim {
namespace {

constexpr long kDrainPeriodNs = 2'000'000;
constexpr int64_t kWindowNs = 1'000'000'000 / 6;
constexpr int64_t kLockTimeoutNs = 1'000'000'000;

int fail(const std::string& what) {
  std::fprintf(stderr, "gpusimd: %s\n", what.c_str());
  return 1;
}

struct Books {
  ScheduleWriter schedule;
  Utilization kernels;
  int64_t window_from_ns = 0;
};

void enter_kernel(const OpRecord& op, Utilization& kernels) {
  if (op.kind == OpKind::kKernel && op.slice_records == 0) kernels.add(op.start_ns, op.end_ns);
  if (op.kind != OpKind::kSlices) return;
  Reservation pieces[kPiecesPerRecord];
  std::memcpy(pieces, op.name, sizeof(pieces));
  for (uint64_t i = 0; i < op.bytes; ++i) kernels.add(pieces[i].start_ns, pieces[i].end_ns);
}

bool drain(SharedDevice& device, Books& books) {
  DeviceMemory& memory = device.memory();
  const uint64_t head = memory.head.load(std::memory_order_acquire);
  uint64_t number = memory.tail.load(std::memory_order_relaxed);
  for (; number < head; ++number) {
    books.schedule.add(device.record(number));
    enter_kernel(device.record(number), books.kernels);
  }
  // Room is made before the write: what was added is ours, and a slow disk is not the clients'.
  memory.tail.store(head, std::memory_order_release);
  return books.schedule.flush();
}

// Six times a second, as the monitoring interfaces of real devices do.
void monitor(SharedDevice& device, Books& books) {
  const int64_t now = now_ns();
  if (now - books.window_from_ns < kWindowNs) return;
  DeviceMemory& memory = device.memory();
  device.sweep_clients();
  uint64_t used = 0;
  for (const auto& bytes : memory.client_bytes) used += bytes.load(std::memory_order_relaxed);
  memory.memory_used_bytes.store(used, std::memory_order_relaxed);
  const uint32_t percent = books.kernels.take(books.window_from_ns, now);
  memory.utilization_percent.store(percent, std::memory_order_relaxed);
  memory.utilization_at_ns.store(now, std::memory_order_release);
  books.window_from_ns = now;
}

bool serve(SharedDevice& device, Books& books, int signal_fd, int timer_fd) {
  pollfd events[] = {{signal_fd, POLLIN, 0}, {timer_fd, POLLIN, 0}};
  for (;;) {
    if (poll(events, 2, -1) < 0 && errno != EINTR) return false;
    if ((events[0].revents & POLLIN) != 0) return true;
    uint64_t expirations = 0;
    const ssize_t n = read(timer_fd, &expirations, sizeof(expirations));
    if (n > 0 && !drain(device, books)) return false;
    monitor(device, books);
  }
}

void stop(SharedDevice& device) {
  const bool locked = device.lock_within(kLockTimeoutNs);
  device.memory().state.store(DeviceState::kStopped, std::memory_order_release);
  if (locked) device.unlock();
}

int run(const Options& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
  const int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  const itimerspec period = {{0, kDrainPeriodNs}, {0, kDrainPeriodNs}};
  if (signal_fd < 0 || timer_fd < 0 || timerfd_settime(timer_fd, 0, &period, nullptr) != 0) {
    return fail(std::string("signals and timer: ") + std::strerror(errno));
  }

  const int64_t start = now_ns();
  const DeviceConfig config = config_of(options, start);
  std::string error;
  DeviceFile file;
  const int fd = file.create(options.dir, options.mode, &error);
  if (fd < 0) return fail(error);
  SharedDevice device;
  if (!device.create(fd, config)) return fail("no memory for the device in " + options.dir);
  if (options.xid != 0) {
    device.memory().xid = options.xid;
    device.memory().xid_at_ns = start + options.xid_at_ns;
  }
  Books books;
  books.window_from_ns = start;
  if (!books.schedule.open(options.schedule, config, start)) {
    return fail(options.schedule + ": " + std::strerror(errno));
  }
  device.memory().state.store(DeviceState::kReady, std::memory_order_release);
  if (!file.publish(&error)) return fail(error);
  std::printf("ready %s\n", options.dir.c_str());
  std::fflush(stdout);

  const bool served = serve(device, books, signal_fd, timer_fd);
  const int reason = errno;
  stop(device);
  if (!served) return fail(options.schedule + ": " + std::strerror(reason));
  if (!drain(device, books)) return fail(options.schedule + ": " + std::strerror(errno));
  return 0;
}

}  // namespace
}  // namespace gpusim

int main(int argc, char** argv) {
  gpusim::Options options;
  if (!gpusim::parse_options(argc, argv, &options)) {
    std::fputs(gpusim::usage(), stderr);
    return 2;
  }
  if (options.help) {
    std::fputs(gpusim::usage(), stdout);
    return 0;
  }
  return gpusim::run(options);
}
