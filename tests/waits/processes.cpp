// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "abi/events.h"
#include "kind.h"

namespace waits {

namespace {

pid_t child;
pthread_t thread;

int fork_a_sleeper() {
  child = static_cast<pid_t>(must("fork", fork()));
  if (child == 0) {
    sleep_ns(2 * kWaitNs);
    _exit(0);
  }
  return -1;
}

/// A child that lets its parent go on kWaitNs after it has stopped.
int fork_a_continuer() {
  const pid_t parent = getpid();
  const std::string path = "/proc/" + std::to_string(parent) + "/stat";
  child = static_cast<pid_t>(must("fork", fork()));
  if (child != 0) return -1;
  for (char state = 0; state != 'T'; sleep_ns(500'000)) {
    std::FILE* stat = std::fopen(path.c_str(), "r");
    if (!stat || std::fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) _exit(1);
    std::fclose(stat);
  }
  sleep_ns(kWaitNs);
  kill(parent, SIGCONT);
  _exit(0);
}

sigset_t user_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  return set;
}

int block_user_signal() {
  const sigset_t set = user_signal();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return -1;
}

int catch_user_signal() {
  std::signal(SIGUSR2, [](int) {});
  const sigset_t set = user_signal();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  return -1;
}

pid_t main_tid() {
  return getpid();
}

/// To the main thread alone: the helper must not take it.
void send_user_signal() {
  must("tgkill", syscall(SYS_tgkill, getpid(), main_tid(), SIGUSR2));
}

}  // namespace

void add_processes(std::vector<Kind>& kinds) {
  kinds.push_back({"stopped and continued", -1, "", Waker::kChild, fork_a_continuer,
                   [] { must("raise", raise(SIGSTOP)); }, nullptr,
                   [] { return Facts{.flags = WST_WAIT_FREEZE, .waker_tid = child}; }});
  kinds.push_back({"wait4 for a child", SYS_wait4, "", Waker::kChild, fork_a_sleeper,
                   [] { must("wait4", waitpid(child, nullptr, 0)); }, nullptr});
  kinds.push_back({"waitid for a child", SYS_waitid, "", Waker::kChild, fork_a_sleeper,
                   [] {
                     siginfo_t info;
                     must("waitid", waitid(P_PID, static_cast<id_t>(child), &info, WEXITED));
                   },
                   nullptr});
  kinds.push_back({"vfork until the child has ended", SYS_vfork, "", Waker::kChild,
                   [] { return -1; },
                   [] {
                     const pid_t pid = vfork();
                     if (pid == 0) {
                       sleep_ns(kWaitNs);
                       _exit(0);
                     }
                     must("vfork", pid);
                     waitpid(pid, nullptr, 0);
                   },
                   nullptr});
  kinds.push_back({"pthread_join", SYS_futex, "", Waker::kAny,
                   [] {
                     return -1 - pthread_create(
                                     &thread, nullptr,
                                     [](void*) -> void* {
                                       sleep_ns(2 * kWaitNs);
                                       return nullptr;
                                     },
                                     nullptr);
                   },
                   [] { pthread_join(thread, nullptr); }, nullptr});
  kinds.push_back({"sigtimedwait", SYS_rt_sigtimedwait, "", Waker::kThread, block_user_signal,
                   [] {
                     const sigset_t set = user_signal();
                     siginfo_t info;
                     must("sigwaitinfo", sigwaitinfo(&set, &info));
                   },
                   send_user_signal});
  kinds.push_back({"sigsuspend", SYS_rt_sigsuspend, "", Waker::kThread, catch_user_signal,
                   [] {
                     sigset_t nothing;
                     sigemptyset(&nothing);
                     sigsuspend(&nothing);
                   },
                   send_user_signal});
  kinds.push_back({"pause", SYS_pause, "", Waker::kThread, catch_user_signal, [] { pause(); },
                   send_user_signal});
}

}  // namespace waits
