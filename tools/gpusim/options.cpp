// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>

namespace gpusim {
namespace {

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
    "  --p2p-gbps N           from device to device of one host, 10^9 bytes/s (default 50)\n"
    "  --staging-gbps N       pageable memory, by the caller's CPU, 10^9 bytes/s (default 10)\n"
    "  --launch-cost-us N     CPU time of a launch or copy call, under a lock (default 3)\n"
    "  --alloc-cost-us N      CPU time of an allocation (default 10)\n"
    "  --time-slice-us N      processes with a context take turns; 0: one after the other "
    "(default)\n"
    "  --half-clocks-after-ms N  kernels that start later than this last twice as long\n"
    "  --xid N[@MS]           fault number that a monitor is to see MS after the start\n"
    "  --compute-slots N      kernels that run at once, 1 to 16 (default 1)\n"
    "  --ring-ops N           operations in flight to the schedule, a power of two (default "
    "32768)\n"
    "  --mode OCTAL           permissions of the device (default 600)\n"
    "  --foreground           accepted; gpusimd never leaves the foreground\n";

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

enum Option {
  kDir = 1,
  kSchedule,
  kName,
  kPci,
  kMemory,
  kLaunch,
  kCopy,
  kH2d,
  kD2h,
  kD2d,
  kP2p,
  kStaging,
  kLaunchCost,
  kAllocCost,
  kTimeSlice,
  kHalfClocks,
  kXid,
  kSlots,
  kRing,
  kMode,
  kForeground,
  kHelp
};

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
    {"p2p-gbps", required_argument, nullptr, kP2p},
    {"staging-gbps", required_argument, nullptr, kStaging},
    {"launch-cost-us", required_argument, nullptr, kLaunchCost},
    {"alloc-cost-us", required_argument, nullptr, kAllocCost},
    {"time-slice-us", required_argument, nullptr, kTimeSlice},
    {"half-clocks-after-ms", required_argument, nullptr, kHalfClocks},
    {"xid", required_argument, nullptr, kXid},
    {"compute-slots", required_argument, nullptr, kSlots},
    {"ring-ops", required_argument, nullptr, kRing},
    {"mode", required_argument, nullptr, kMode},
    {"foreground", no_argument, nullptr, kForeground},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

bool parse_xid(std::string text, Options* options) {
  const size_t at = text.find('@');
  double ms = 0;
  if (at != std::string::npos && !parse_real(text.c_str() + at + 1, 0, &ms)) return false;
  options->xid_at_ns = static_cast<int64_t>(ms * 1e6);
  return parse_whole(text.substr(0, at).c_str(), 10, &options->xid);
}

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
    case kP2p:
      return parse_real(value, kSlowestGbps, &options->p2p_gbps);
    case kStaging:
      return parse_real(value, kSlowestGbps, &options->staging_gbps);
    case kLaunchCost:
      return parse_real(value, 0, &options->launch_cost_us);
    case kAllocCost:
      return parse_real(value, 0, &options->alloc_cost_us);
    case kTimeSlice:
      return parse_real(value, 0, &options->time_slice_us);
    case kHalfClocks:
      return parse_real(value, 0, &options->half_clocks_after_ms);
    case kXid:
      return parse_xid(value, options);
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

}  // namespace

const char* usage() {
  return kUsage;
}

bool parse_options(int argc, char** argv, Options* options) {
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

DeviceConfig config_of(const Options& options, int64_t start_ns) {
  DeviceConfig config = {};
  std::snprintf(config.name, sizeof(config.name), "%s", options.name.c_str());
  std::snprintf(config.pci_bus_id, sizeof(config.pci_bus_id), "%s", options.pci_bus_id.c_str());
  config.memory_bytes = static_cast<uint64_t>(options.memory_gib * (1 << 30));
  config.launch_latency_ns = static_cast<int64_t>(options.launch_latency_us * 1e3);
  config.copy_latency_ns = static_cast<int64_t>(options.copy_latency_us * 1e3);
  config.h2d_bytes_per_ns = options.h2d_gbps;
  config.d2h_bytes_per_ns = options.d2h_gbps;
  config.d2d_bytes_per_ns = options.d2d_gbps;
  config.p2p_bytes_per_ns = options.p2p_gbps;
  config.staging_bytes_per_ns = options.staging_gbps;
  config.launch_cost_ns = static_cast<int64_t>(options.launch_cost_us * 1e3);
  config.alloc_cost_ns = static_cast<int64_t>(options.alloc_cost_us * 1e3);
  config.time_slice_ns = static_cast<int64_t>(options.time_slice_us * 1e3);
  config.half_clocks_from_ns = std::numeric_limits<int64_t>::max();
  if (options.half_clocks_after_ms >= 0) {
    config.half_clocks_from_ns =
        start_ns + static_cast<int64_t>(options.half_clocks_after_ms * 1e6);
  }
  config.compute_slots = options.compute_slots;
  config.ring_ops = options.ring_ops;
  return config;
}

}  // namespace gpusim
