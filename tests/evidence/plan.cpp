// SPDX-License-Identifier: Apache-2.0
//
// plan: gives the simulated device a fixed list of work on two streams and prints it, one line of
// JSON each in the order in which it was submitted, when all is done:
//   {"stream":0|1,"kind":"kernel|h2d|d2h","ns":N} or {…,"bytes":N}
// How long the host takes between two calls, and when it looks whether the work is done, differs
// from run to run; the list does not. Says "ready" first and begins on a line of input.
#include <vector>

#include "device.h"

namespace {

using evidence::clock_ns;

constexpr int kRounds = 400;
constexpr std::size_t kBytes = 1u << 20;

void work_for(std::int64_t cpu_ns) {
  const std::int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

}  // namespace

int main() {
  const evidence::Device device;
  const CUstream streams[] = {device.stream(), device.stream()};
  const CUdeviceptr memory = device.memory(kBytes);
  char* const pinned = device.pinned(kBytes);
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) return 1;

  std::uint32_t random = 1;
  for (int round = 0; round < kRounds; round++) {
    for (int i = 0; i < 8; i++) {
      random = random * 1664525U + 1013904223U;
      const std::uint32_t stream = random >> 31, kind = (random >> 28) % 8;
      const std::size_t bytes = 4096 + (random >> 8) % (kBytes - 4096);
      const std::int64_t ns = 20'000 + (random >> 8) % 600'000;
      if (kind == 0) {
        device.check(device.cuMemcpyHtoDAsync_v2(memory, pinned, bytes, streams[stream]));
      } else if (kind == 1) {
        device.check(device.cuMemcpyDtoHAsync_v2(pinned, memory, bytes, streams[stream]));
      } else {
        device.launch(streams[stream], ns);
      }
      if (kind < 2)
        std::printf("{\"stream\":%u,\"kind\":\"%s\",\"bytes\":%zu}\n", stream,
                    kind == 0 ? "h2d" : "d2h", bytes);
      else
        std::printf("{\"stream\":%u,\"kind\":\"kernel\",\"ns\":%ld}\n", stream, ns);
    }
    work_for(500'000 + (random >> 8) % 4'000'000);
    if (round % 5 == 4) device.check(device.cuCtxSynchronize());
  }
  device.check(device.cuCtxSynchronize());
  return 0;
}
