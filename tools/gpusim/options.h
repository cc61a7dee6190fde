// SPDX-License-Identifier: Apache-2.0
// The command line of gpusimd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "shared_device.h"

namespace gpusim {

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
  double p2p_gbps = 50;
  double staging_gbps = 10;
  double launch_cost_us = 3;
  double alloc_cost_us = 10;
  double time_slice_us = 0;
  double half_clocks_after_ms = -1;  // never
  unsigned int xid = 0;
  int64_t xid_at_ns = 0;
  unsigned int compute_slots = 1;
  unsigned int ring_ops = 32768;
  mode_t mode = 0600;
  bool help = false;
};

const char* usage();
// False, having said why, if the command line is not understood.
bool parse_options(int argc, char** argv, Options* options);
DeviceConfig config_of(const Options& options, int64_t start_ns);

}  // namespace gpusim
