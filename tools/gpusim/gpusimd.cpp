// SPDX-License-Identifier: Apache-2.0
// gpusimd: owns one simulated device and writes the exact schedule of everything it ran.
//
// It plans nothing: clients do, in shared memory. It takes the plans out of the ring every few
// milliseconds. When told to stop it closes the device under the lock, so that no operation can
// slip in behind the last one written.
#include <getopt.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "device_file.h"
#include "schedule_writer.h"
#include "shared_device.h"

namespace gpusim {
namespace {

constexpr long kDrainPeriodNs = 2'000'000;
constexpr int64_t kLockTimeoutNs = 1'000'000'000;

constexpr char kUsage[] =
    "usage: gpusimd --dir DIR [options]\n"
    "  --dir DIR              where clients find the device (GPUSIM_DIR)\n"
    "  --schedule FILE        the schedule (default DIR/schedule.ndjson)\n"
    "  --device-name NAME     default \"Simulated Accelerator\"\n"
    "  --pci-bus-id ID        default 0000:65:00.0\n"
    "  --memory-gib N         device memory a process may take (default 16)\n"
    "  --launch-latency-us N  from API entry to the earliest start (default 5)\n"
    "  --copy-latency-us N    fixed part of a copy's or memset's duration (default 1)\n"
    "  --h2d-gbps N           host to device, 10^9 bytes/s (default 25)\n"
    "  --d2h-gbps N           device to host, 10^9 bytes/s (default 25)\n"
    "  --d2d-gbps N           device to device and memset, 10^9 bytes/s (default 1000)\n"
    "  --compute-slots N      kernels that run at once, 1 to 16 (default 1)\n"
    "  --ring-ops N           operations in flight to the schedule, a power of two (default "
    "32768)\n"
    "  --mode OCTAL           permissions of the device (default 600)\n"
    "  --foreground           accepted; gpusimd never leaves the foreground\n";

struct Options {
  std::string dir;
  std::string schedule;
  std::string name = "Simulated Accelerator";
  std::string pci_bus_id = "0000:65:00.0";
  double memory_gib = 16;
  double launch_latency_us = 5;
  double copy_latency_us = 1;
  double h2d_gbps = 25;
  double d2h_gbps = 25;
  double d2d_gbps = 1000;
  unsigned int compute_slots = 1;
  unsigned int ring_ops = 32768;
  mode_t mode = 0600;
  bool help = false;
};

bool parse_real(const char* text, double lowest, double* value) {
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, *value);
  return error == std::errc() && stop == end && *value >= lowest && *value <= 1e9;
}

bool parse_whole(const char* text, int base, unsigned int* value) {
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, *value, base);
  return error == std::errc() && stop == end;
}

enum Option { kDir = 1, kSchedule, kName, kPci, kMemory, kLaunch, kCopy, kH2d, kD2h, kD2d, kSlots };
enum MoreOptions { kRing = 100, kMode, kForeground, kHelp };

constexpr option kLongOptions[] = {
    {"dir", required_argument, nullptr, kDir},
    {"schedule", required_argument, nullptr, kSchedule},
    {"device-name", required_argument, nullptr, kName},
    {"pci-bus-id", required_argument, nullptr, kPci},
    {"memory-gib", required_argument, nullptr, kMemory},
    {"launch-latency-us", required_argument, nullptr, kLaunch},
    {"copy-latency-us", required_argument, nullptr, kCopy},
    {"h2d-gbps", required_argument, nullptr, kH2d},
    {"d2h-gbps", required_argument, nullptr, kD2h},
    {"d2d-gbps", required_argument, nullptr, kD2d},
    {"compute-slots", required_argument, nullptr, kSlots},
    {"ring-ops", required_argument, nullptr, kRing},
    {"mode", required_argument, nullptr, kMode},
    {"foreground", no_argument, nullptr, kForeground},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

bool parse_option(int option, const char* value, Options* options) {
  constexpr double kSlowestGbps = 1e-6;
  switch (option) {
    case kDir:
      options->dir = value;
      return !options->dir.empty();
    case kSchedule:
      options->schedule = value;
      return true;
    case kName:
      options->name = value;
      return true;
    case kPci:
      options->pci_bus_id = value;
      return true;
    case kMemory:
      return parse_real(value, 1e-3, &options->memory_gib);
    case kLaunch:
      return parse_real(value, 0, &options->launch_latency_us);
    case kCopy:
      return parse_real(value, 0, &options->copy_latency_us);
    case kH2d:
      return parse_real(value, kSlowestGbps, &options->h2d_gbps);
    case kD2h:
      return parse_real(value, kSlowestGbps, &options->d2h_gbps);
    case kD2d:
      return parse_real(value, kSlowestGbps, &options->d2d_gbps);
    case kSlots:
      return parse_whole(value, 10, &options->compute_slots) && options->compute_slots >= 1 &&
             options->compute_slots <= kMaxComputeSlots;
    case kRing:
      return parse_whole(value, 10, &options->ring_ops) && options->ring_ops >= 2 &&
             options->ring_ops <= 1U << 20 && (options->ring_ops & (options->ring_ops - 1)) == 0;
    case kMode:
      return parse_whole(value, 8, &options->mode) && options->mode <= 0777;
    case kForeground:
      return true;
    default:
      return false;
  }
}

bool parse(int argc, char** argv, Options* options) {
  for (;;) {
    const int option = getopt_long(argc, argv, "", kLongOptions, nullptr);
    if (option == -1) break;
    if (option == kHelp) {
      options->help = true;
      return true;
    }
    if (!parse_option(option, optarg, options)) {
      std::fprintf(stderr, "gpusimd: bad option or value%s%s\n", optarg ? ": " : "",
                   optarg ? optarg : "");
      return false;
    }
  }
  if (options->schedule.empty()) options->schedule = options->dir + "/schedule.ndjson";
  return optind == argc && !options->dir.empty();
}

DeviceConfig config_of(const Options& options) {
  DeviceConfig config = {};
  std::snprintf(config.name, sizeof(config.name), "%s", options.name.c_str());
  std::snprintf(config.pci_bus_id, sizeof(config.pci_bus_id), "%s", options.pci_bus_id.c_str());
  config.memory_bytes = static_cast<uint64_t>(options.memory_gib * (1 << 30));
  config.launch_latency_ns = static_cast<int64_t>(options.launch_latency_us * 1e3);
  config.copy_latency_ns = static_cast<int64_t>(options.copy_latency_us * 1e3);
  config.h2d_bytes_per_ns = options.h2d_gbps;
  config.d2h_bytes_per_ns = options.d2h_gbps;
  config.d2d_bytes_per_ns = options.d2d_gbps;
  config.compute_slots = options.compute_slots;
  config.ring_ops = options.ring_ops;
  return config;
}

int fail(const std::string& what) {
  std::fprintf(stderr, "gpusimd: %s\n", what.c_str());
  return 1;
}

bool drain(SharedDevice& device, ScheduleWriter& schedule) {
  DeviceMemory& memory = device.memory();
  const uint64_t head = memory.head.load(std::memory_order_acquire);
  uint64_t number = memory.tail.load(std::memory_order_relaxed);
  for (; number < head; ++number) schedule.add(number, device.record(number));
  // Room is made before the write: what was added is ours, and a slow disk is not the clients'.
  memory.tail.store(head, std::memory_order_release);
  return schedule.flush();
}

bool serve(SharedDevice& device, ScheduleWriter& schedule, int signal_fd, int timer_fd) {
  pollfd events[] = {{signal_fd, POLLIN, 0}, {timer_fd, POLLIN, 0}};
  for (;;) {
    if (poll(events, 2, -1) < 0 && errno != EINTR) return false;
    if ((events[0].revents & POLLIN) != 0) return true;
    uint64_t expirations = 0;
    const ssize_t n = read(timer_fd, &expirations, sizeof(expirations));
    if (n > 0 && !drain(device, schedule)) return false;
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

  const DeviceConfig config = config_of(options);
  std::string error;
  DeviceFile file;
  const int fd = file.create(options.dir, options.mode, &error);
  if (fd < 0) return fail(error);
  SharedDevice device;
  if (!device.create(fd, config)) return fail("no memory for the device in " + options.dir);
  ScheduleWriter schedule;
  if (!schedule.open(options.schedule, config, now_ns())) {
    return fail(options.schedule + ": " + std::strerror(errno));
  }
  device.memory().state.store(DeviceState::kReady, std::memory_order_release);
  if (!file.publish(&error)) return fail(error);
  std::printf("ready %s\n", options.dir.c_str());
  std::fflush(stdout);

  const bool served = serve(device, schedule, signal_fd, timer_fd);
  const int reason = errno;
  stop(device);
  if (!served) return fail(options.schedule + ": " + std::strerror(reason));
  if (!drain(device, schedule)) return fail(options.schedule + ": " + std::strerror(errno));
  return 0;
}

}  // namespace
}  // namespace gpusim

int main(int argc, char** argv) {
  gpusim::Options options;
  if (!gpusim::parse(argc, argv, &options)) {
    std::fputs(gpusim::kUsage, stderr);
    return 2;
  }
  if (options.help) {
    std::fputs(gpusim::kUsage, stdout);
    return 0;
  }
  return gpusim::run(options);
}
