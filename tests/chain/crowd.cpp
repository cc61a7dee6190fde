// SPDX-License-Identifier: Apache-2.0
//
// crowd: twenty processes that talk over pipes: in each of ten pairs a byte goes to and fro, a
// hundred times at once and then again after two milliseconds. Prints "ready" and ends with its
// input.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <initializer_list>

namespace {

constexpr int kPairs = 10;
constexpr int kBurst = 100;

void talk(int from, int to, bool pauses) {
  char byte = 0;
  for (int i = 1; write(to, &byte, 1) == 1 && read(from, &byte, 1) == 1; i++) {
    if (pauses && i % kBurst == 0) usleep(2000);
  }
}

}  // namespace

int main() {
  for (int i = 0; i < kPairs; i++) {
    int there[2], back[2];
    if (pipe(there) != 0 || pipe(back) != 0) return 1;
    for (const bool first : {true, false}) {
      const pid_t pid = fork();
      if (pid < 0) return 1;
      if (pid > 0) continue;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      talk(first ? back[0] : there[0], first ? there[1] : back[1], first);
      return 0;
    }
  }
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}
