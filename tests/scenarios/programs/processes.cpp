// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "bell.h"
#include "die.h"
#include "host_work.h"
#include "process_via.h"
#include "works.h"

namespace loop {
namespace {

class Stop : public Work {
 public:
  explicit Stop(std::int64_t ns) {
    const pid_t stopped = getpid();
    stopper_ = fork_child("stopper");
    if (stopper_ != 0) return;
    while (ask_->wait()) {
      if (ns > 0) {
        kill(stopped, SIGSTOP);
        sleep_for(ns);
        kill(stopped, SIGCONT);
      }
      done_->ring();
    }
    _exit(0);
  }

  void run() override {
    ask_->ring();
    done_->wait();
  }

  void tell(Facts& facts) const override { facts.number("stopper_pid", stopper_); }

 private:
  const std::unique_ptr<Bell> ask_ = make_bell(Means::kPipe), done_ = make_bell(Means::kPipe);
  pid_t stopper_ = 0;
};

class Stuck : public Work {
 public:
  Stuck() {
    if (pipe2(pipe_, O_CLOEXEC) != 0) die("pipe: %s", std::strerror(errno));
    reader_ = fork_child("reader");
    // Each has its end and no other.
    close(pipe_[reader_ != 0 ? 0 : 1]);
    while (reader_ == 0) pause();
  }

  void run() override {
    if (++runs_ <= kSteadyAfter) return;
    signal(SIGTERM, [](int) { _exit(0); });
    const std::vector<char> data(4096);
    while (true) {
      if (write(pipe_[1], data.data(), data.size()) < 0) die("write: %s", std::strerror(errno));
    }
  }

  void tell(Facts& facts) const override {
    struct stat status{};
    fstat(pipe_[1], &status);
    facts.number("pipe_inode", static_cast<std::int64_t>(status.st_ino));
    facts.number("reader_pid", reader_);
  }

 private:
  static constexpr int kSteadyAfter = 4;  // the program is ready by then
  int pipe_[2] = {-1, -1};
  pid_t reader_ = 0;
  int runs_ = 0;
};

class Serve : public Work {
 public:
  explicit Serve(std::int64_t ns) : bells_(make_tcp_bells()) {
    if (!fork_stranger("client")) {
      bells_.there->only_waits();
      bells_.back->only_rings();
      return;
    }
    bells_.there->only_rings();
    bells_.back->only_waits();
    do {
      sleep_for(ns);
      bells_.there->ring();
    } while (bells_.back->wait());
    _exit(0);
  }

  void run() override {
    if (asked_) bells_.back->ring();
    if (!bells_.there->wait()) die("the client is gone");
    asked_ = true;
  }

 private:
  const Bells bells_;
  bool asked_ = false;
};

}  // namespace

std::unique_ptr<Work> make_stop(const Part& part) {
  return std::make_unique<Stop>(part.host_ns);
}
std::unique_ptr<Work> make_stuck(const Part&) {
  return std::make_unique<Stuck>();
}
std::unique_ptr<Work> make_serve(const Part& part) {
  return std::make_unique<Serve>(part.host_ns);
}

}  // namespace loop
