// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loop {

// The CUDA driver, as far as this program needs it: one context, the default stream, one kernel
// whose length is its only argument. Found by dlopen("libcuda.so.1"). Any failure ends the program.
class Driver {
 public:
  Driver();

  void launch(std::uint64_t duration_ns);
  void synchronize();

 private:
  using LaunchKernel = int (*)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z,
                               unsigned shared_bytes, void* stream, void** params, void** extra);
  using ContextSynchronize = int (*)();

  LaunchKernel launch_kernel_ = nullptr;
  ContextSynchronize context_synchronize_ = nullptr;
  void* kernel_ = nullptr;
};

}  // namespace loop
