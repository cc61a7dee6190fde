// SPDX-License-Identifier: Apache-2.0
//
// mixture DRIVER: threads that use the CPU in different ways, as fast as they can. DRIVER is
// mapped, so that the process can be a target; the device is not used. For each line on its input
// it prints one line of JSON: how long each thread has run by the kernel's own account, and the
// times just before and after it asked. Ends with its input.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

std::int64_t clock_ns(clockid_t clock) {
  timespec t;
  if (clock_gettime(clock, &t) != 0) std::abort();
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void sleep_ns(long ns) {
  const timespec span{0, ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
}

/// So much of the thread's own CPU time.
void compute_ns(std::int64_t ns) {
  const std::int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

/// Two threads hand a byte to and fro.
int there[2], back[2];

void pass(int from, int to) {
  char byte = 0;
  if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1) std::abort();
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void fight() {
  pthread_mutex_lock(&mutex);
  compute_ns(20'000);
  pthread_mutex_unlock(&mutex);
  compute_ns(5'000);
}

struct Role {
  const char* name;
  void (*step)();  // again and again
  int cpu;         // -1: any; else the how-manieth of those that are allowed
};

const Role kRoles[] = {
    {"ping", [] { pass(back[0], there[1]); }, -1},
    {"pong", [] { pass(there[0], back[1]); }, -1},
    {"sleeper", [] { sleep_ns(5'000'000); }, -1},
    {"short-sleeper", [] { sleep_ns(30'000); }, -1},
    {"fighter", fight, -1},
    {"fighter", fight, -1},
    {"fighter", fight, -1},
    {"spinner", [] {}, 0},
    {"spinner", [] {}, 0},
    {"yielder", [] { sched_yield(); }, 0},
    {"preempter",
     [] {
       sleep_ns(700'000);
       compute_ns(100'000);
     },
     0},
};

struct Thread {
  const Role* role;
  pthread_t handle;
  pid_t tid;
};
sem_t started;

void pin(int which) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &allowed) && which-- == 0) CPU_SET(cpu, &one);
  }
  sched_setaffinity(0, sizeof one, &one);
}

void* live(void* argument) {
  auto* thread = static_cast<Thread*>(argument);
  const Role* role = thread->role;
  thread->tid = static_cast<pid_t>(syscall(SYS_gettid));
  pthread_setname_np(pthread_self(), role->name);
  prctl(PR_SET_TIMERSLACK, 1);
  if (role->cpu >= 0) pin(role->cpu);
  sem_post(&started);
  for (;;) role->step();
}

void report(const std::vector<Thread>& threads) {
  std::string line = "[";
  for (const Thread& thread : threads) {
    clockid_t clock;
    if (pthread_getcpuclockid(thread.handle, &clock) != 0) std::abort();
    const std::int64_t before = clock_ns(CLOCK_MONOTONIC);
    const std::int64_t ran = clock_ns(clock);
    const std::int64_t after = clock_ns(CLOCK_MONOTONIC);
    char text[256];
    std::snprintf(
        text, sizeof text,
        "%s{\"tid\":%d,\"name\":\"%s\",\"ran_ns\":%lld,\"before_ns\":%lld,\"after_ns\":%lld}",
        line.size() > 1 ? "," : "", thread.tid, thread.role ? thread.role->name : "main",
        static_cast<long long>(ran), static_cast<long long>(before), static_cast<long long>(after));
    line += text;
  }
  std::printf("%s]\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: mixture DRIVER\n", stderr);
    return 2;
  }
  if (!dlopen(argv[1], RTLD_NOW)) {
    std::fprintf(stderr, "mixture: %s\n", dlerror());
    return 1;
  }
  if (pipe(there) != 0 || pipe(back) != 0 || write(back[1], "", 1) != 1) return 1;
  sem_init(&started, 0, 0);
  std::vector<Thread> threads(1 + std::size(kRoles));
  threads[0] = {nullptr, pthread_self(), getpid()};
  for (std::size_t i = 1; i < threads.size(); i++) {
    threads[i].role = &kRoles[i - 1];
    if (pthread_create(&threads[i].handle, nullptr, live, &threads[i]) != 0) return 1;
    while (sem_wait(&started) != 0) {
    }
  }
  report(threads);
  char line[16];
  while (std::fgets(line, sizeof line, stdin)) report(threads);
  return 0;
}
