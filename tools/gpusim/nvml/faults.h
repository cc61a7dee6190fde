// SPDX-License-Identifier: Apache-2.0
// What the environment asks to go wrong in the stand-in of NVML. Lists are separated by commas.
//
//   GPUSIM_NVML_LACKS=FUNCTION       the library has no such function
//   GPUSIM_NVML_ERROR=FUNCTION=CODE  it returns that
//   GPUSIM_NVML_BLOCK=FUNCTION=SECONDS  it takes so long
//   GPUSIM_NVML_PIDS=absent          no processes are told, as inside some containers
#pragma once

namespace gpusim {

bool lacks(const char* function);

// To be called first of all in a function: blocks if it shall, and returns the error or 0.
int fault(const char* function);

bool hides_processes();

}  // namespace gpusim
