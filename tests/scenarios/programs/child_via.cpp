// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "bell.h"
#include "die.h"
#include "modes.h"
#include "process_via.h"
#include "vias.h"

extern char** environ;

namespace loop {
namespace {

void reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) die("waitpid: %s", std::strerror(errno));
  }
  if (status != 0) die("a child failed");
}

class Child : public Work {
 public:
  explicit Child(const Part& inner)
      : mode_(inner.mode), host_ms_(std::to_string(static_cast<double>(inner.host_ns) / 1e6)) {}

  void run() override {
    std::string program = "/proc/self/exe", once = "--once", mode = "--mode", host = "--host-ms";
    char* arguments[] = {program.data(), once.data(),     mode.data(), mode_.data(),
                         host.data(),    host_ms_.data(), nullptr};
    pid_t pid = 0;
    if (posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
      die("posix_spawn failed");
    }
    reap(pid);
  }

 private:
  std::string mode_, host_ms_;
};

class Respawn : public Work {
 public:
  explicit Respawn(const Part& inner) : inner_(inner), done_(make_bell(Means::kPipe)) {}

  void run() override {
    pid_ = fork_child("respawned");
    if (pid_ == 0) {
      const auto work = make_work(inner_);
      work->run();
      done_->ring();
      _exit(0);
    }
    if (!done_->wait()) die("a child gave no answer");
  }

  void prepare() override { reap(pid_); }

 private:
  const Part inner_;
  const std::unique_ptr<Bell> done_;
  pid_t pid_ = 0;
};

}  // namespace

std::unique_ptr<Work> make_child(const Part& inner) {
  return std::make_unique<Child>(inner);
}

std::unique_ptr<Work> make_respawn(const Part& inner) {
  return std::make_unique<Respawn>(inner);
}

}  // namespace loop
