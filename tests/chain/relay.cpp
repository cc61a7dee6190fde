// SPDX-License-Identifier: Apache-2.0
//
// relay DRIVER once|periodic [FILE]: four processes, none of which is another's child, that wait
// for each other: A asks B and waits (pipe), B asks C (socket pair), C asks D (futex in shared
// memory), and D sleeps, or reads FILE if there is one. A maps DRIVER, so that it can be a target.
// It asks once, when a line "go" comes on the input, or every 50 ms from the beginning. Prints the
// processes' numbers, and for each other line when A asked and was answered and when D began and
// ended. Ends with its input.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr int kMaxChains = 1024;

struct Chain {
  std::int64_t asked, began, ended, answered;
};

struct Shared {
  std::uint32_t go, ready;  // not waited for: whoever wakes A is to be B alone
  std::uint32_t job, done;  // futexes: 1 is a job, or that it is done
  std::uint32_t chains;
  Chain chain[kMaxChains];
};
Shared* shared;
int question[2], answer[2];  // pipes from A to B and back
int pair[2];                 // B has the first, C the second
bool once;
const char* file;

std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void sleep_ns(std::int64_t ns) {
  const timespec span{0, ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
}

long must(const char* what, long result) {
  if (result >= 0) return result;
  std::fprintf(stderr, "relay: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

std::uint32_t load(const std::uint32_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

void store(std::uint32_t& word, std::uint32_t value) {
  __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

/// Waits until `word` is 1 and makes it 0.
void take(std::uint32_t& word) {
  while (load(word) != 1) syscall(SYS_futex, &word, FUTEX_WAIT, 0, nullptr, nullptr, 0);
  store(word, 0);
}

void give(std::uint32_t& word) {
  store(word, 1);
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void send_byte(int fd) {
  must("write", write(fd, "", 1));
}

void receive_byte(int fd) {
  char byte;
  if (must("read", read(fd, &byte, 1)) == 0) std::exit(0);
}

void ask() {
  Chain& chain = shared->chain[shared->chains];
  chain.asked = now_ns();
  send_byte(question[1]);
  receive_byte(answer[0]);
  chain.answered = now_ns();
  if (shared->chains + 1 < kMaxChains) store(shared->chains, shared->chains + 1);
}

void be_a(const char* driver) {
  if (!dlopen(driver, RTLD_NOW)) {
    std::fprintf(stderr, "relay: %s\n", dlerror());
    std::exit(1);
  }
  store(shared->ready, 1);
  if (once) {
    while (!load(shared->go)) sleep_ns(10 * kMs);
    ask();
    for (;;) sleep_ns(10 * kMs);
  }
  for (std::int64_t next = now_ns();; next += 50 * kMs) {
    ask();
    if (const std::int64_t left = next + 50 * kMs - now_ns(); left > 0)
      sleep_ns(left);
    else
      next -= left;
  }
}

void be_b() {
  for (;;) {
    receive_byte(question[0]);
    send_byte(pair[0]);
    receive_byte(pair[0]);
    send_byte(answer[1]);
  }
}

void be_c() {
  for (;;) {
    receive_byte(pair[1]);
    give(shared->job);
    take(shared->done);
    send_byte(pair[1]);
  }
}

void be_d() {
  char block[4096];
  const int fd = file ? static_cast<int>(must(file, open(file, O_RDONLY))) : -1;
  for (;;) {
    take(shared->job);
    Chain& chain = shared->chain[load(shared->chains)];
    chain.began = now_ns();
    if (fd >= 0) {
      must("fadvise", -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
      must("pread", pread(fd, block, sizeof block, 0));
    } else {
      sleep_ns(once ? 300 * kMs : 30 * kMs);
    }
    chain.ended = now_ns();
    give(shared->done);
  }
}

template <typename Role>
pid_t start(const char* name, Role role) {
  const pid_t pid = static_cast<pid_t>(must("fork", fork()));
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, name);
  role();
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fputs("usage: relay DRIVER once|periodic [FILE]\n", stderr);
    return 2;
  }
  once = std::strcmp(argv[2], "once") == 0;
  file = argc == 4 ? argv[3] : nullptr;
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) must("mmap", -1);
  shared = static_cast<Shared*>(memory);
  must("pipe", pipe(question));
  must("pipe", pipe(answer));
  must("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  const pid_t d = start("relay-d", be_d);
  const pid_t c = start("relay-c", be_c);
  const pid_t b = start("relay-b", be_b);
  const pid_t a = start("relay-a", [&] { be_a(argv[1]); });
  while (!load(shared->ready)) sleep_ns(kMs);
  std::printf("{\"a\":%d,\"b\":%d,\"c\":%d,\"d\":%d}\n", a, b, c, d);
  std::fflush(stdout);

  char line[16];
  while (std::fgets(line, sizeof line, stdin)) {
    if (once && line[0] == 'g') {
      store(shared->go, 1);
      continue;
    }
    std::printf("[");
    for (std::uint32_t i = 0; i < load(shared->chains); i++) {
      const Chain& chain = shared->chain[i];
      std::printf("%s{\"asked\":%lld,\"began\":%lld,\"ended\":%lld,\"answered\":%lld}",
                  i ? "," : "", static_cast<long long>(chain.asked),
                  static_cast<long long>(chain.began), static_cast<long long>(chain.ended),
                  static_cast<long long>(chain.answered));
    }
    std::puts("]");
    std::fflush(stdout);
  }
  return 0;  // and with it the four
}
