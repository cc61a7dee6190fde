// SPDX-License-Identifier: Apache-2.0
#include "process_via.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "die.h"
#include "host_work.h"
#include "modes.h"
#include "vias.h"

namespace loop {

pid_t fork_child(const char* name) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) die("fork: %s", std::strerror(errno));
  if (pid != 0) return pid;
  // Orphans would keep the mount busy. The parent may have gone before this took effect.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  prctl(PR_SET_NAME, name);
  signal(SIGINT, SIG_IGN);  // a Ctrl-C reaches the whole group; the parent's end is what counts
  signal(SIGTERM, SIG_DFL);
  return 0;
}

bool fork_stranger(const char* name) {
  const pid_t pid = fork();
  if (pid < 0) die("fork: %s", std::strerror(errno));
  if (pid != 0) {
    waitpid(pid, nullptr, 0);
    return false;
  }
  setsid();
  if (fork() != 0) _exit(0);
  prctl(PR_SET_NAME, name);
  signal(SIGTERM, SIG_DFL);
  signal(SIGINT, SIG_IGN);
  return true;
}

namespace {

class Process : public Work {
 public:
  Process(const Part& inner, Bells bells, Kin kin, bool awaited)
      : bells_(std::move(bells)), awaited_(awaited) {
    int facts[2];
    if (pipe2(facts, O_CLOEXEC) != 0) die("pipe: %s", std::strerror(errno));
    const bool forked = kin == Kin::kStranger ? fork_stranger("server")
                                              : fork_child(awaited ? "worker" : "idle-worker") == 0;
    if (forked) {
      close(facts[0]);
      bells_.there->only_waits();
      bells_.back->only_rings();
      serve(inner, kin, facts[1]);
    }
    close(facts[1]);
    bells_.there->only_rings();
    bells_.back->only_waits();
    char text[4096];
    for (ssize_t n; !facts_.ends_with('\n') && (n = read(facts[0], text, sizeof text)) > 0;) {
      facts_.append(text, static_cast<std::size_t>(n));
    }
    close(facts[0]);
    if (!facts_.ends_with('\n'))
      die("a %s could not begin", kin == Kin::kChild ? "worker" : "server");
    facts_.pop_back();
  }

  void run() override {
    bells_.there->ring();
    if (awaited_ && !bells_.back->wait()) die("a process that was asked is gone");
  }

  void tell(Facts& facts) const override { facts.take(facts_); }

 private:
  // The line says that its files are open and its memory is there.
  [[noreturn]] void serve(const Part& part, Kin kin, int to_parent) {
    pin_to(part.cpu);
    const std::unique_ptr<Work> inner = make_work(part);
    lock_memory();
    prctl(PR_SET_TIMERSLACK, 1UL);
    Facts facts(part.decoy ? "decoy_" : "");
    facts.number(kin == Kin::kChild ? "worker_pid" : "server_pid", getpid());
    inner->tell(facts);
    const std::string text = facts.members() + '\n';
    if (write(to_parent, text.data(), text.size()) < 0) _exit(1);
    close(to_parent);
    while (bells_.there->wait()) {
      inner->run();
      if (awaited_) bells_.back->ring();
      inner->prepare();
    }
    _exit(0);
  }

  const Bells bells_;
  const bool awaited_;
  std::string facts_;
};

}  // namespace

std::unique_ptr<Work> make_process(const Part& inner, Bells bells, Kin kin, bool awaited) {
  return std::make_unique<Process>(inner, std::move(bells), kin, awaited);
}

}  // namespace loop
