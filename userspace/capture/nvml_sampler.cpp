// SPDX-License-Identifier: Apache-2.0
#include "capture/nvml_sampler.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/pipe.h"
#include "nvml/program.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3
#endif

namespace whystall::capture {

namespace {

constexpr char kName[] = "whystall-nvml";
constexpr std::size_t kMaxLine = 16u << 10;
/// What is taken in one step, 20 ms: 300 times what 8 devices write.
constexpr std::size_t kMaxStep = 64u << 10;
/// How long a killed process may take to be gone, unless the driver holds it.
constexpr int kKillMs = 100;

/// The program as an executable file in memory. Not valid: `errno` says why.
Fd program_file() {
  Fd fd(memfd_create(kName, MFD_CLOEXEC | MFD_EXEC));
  if (!fd.valid() && errno == EINVAL) fd = Fd(memfd_create(kName, MFD_CLOEXEC));
  auto rest = nvml::program();
  while (fd.valid() && !rest.empty()) {
    const ssize_t n = write(fd.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Fd();
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  return fd;
}

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void exec_program(int program, int input, int output, char* const* arguments) {
  // Above the standard streams, should whystall itself have been started without them.
  program = fcntl(program, F_DUPFD_CLOEXEC, 3);
  input = fcntl(input, F_DUPFD_CLOEXEC, 3);
  output = fcntl(output, F_DUPFD_CLOEXEC, 3);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
  fexecve(program, arguments, environ);
  const char* why = std::strerror(errno);
  dprintf(STDOUT_FILENO, "{\"missing\":\"the NVML helper cannot be run: %s\"}\n", why);
  _exit(0);
}

}  // namespace

void NvmlSampler::start(pid_t target) {
  const auto failed = [this](const char* why) {
    facts_.take_missing("the NVML helper cannot be started: " + std::string(why));
  };
  const Fd program = program_file();
  if (!program.valid()) return failed(std::strerror(errno));
  auto input = make_pipe();
  if (!input) return failed(input.error().text.c_str());
  auto output = make_pipe();
  if (!output) return failed(output.error().text.c_str());
  fcntl(output->read.get(), F_SETFL, O_NONBLOCK);

  std::string name = kName, parent = std::to_string(getpid()), root = std::to_string(target);
  const std::array<char*, 4> arguments = {name.data(), parent.data(), root.data(), nullptr};
  const pid_t pid = fork();
  if (pid < 0) return failed(std::strerror(errno));
  if (pid == 0) {
    exec_program(program.get(), input->read.get(), output->write.get(), arguments.data());
  }
  pid_ = pid;
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  input_ = std::move(input->write);
  output_ = std::move(output->read);
}

void NvmlSampler::step() {
  std::array<char, 8192> buffer;
  for (std::size_t taken = 0; output_.valid() && taken < kMaxStep;) {
    const ssize_t n = read(output_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      output_.reset();
      if (!line_.empty()) facts_.take_line(line_);
      break;
    }
    take({buffer.data(), static_cast<std::size_t>(n)});
    taken += static_cast<std::size_t>(n);
  }
  if (output_.valid() || !input_.valid() || !reap(0)) return;
  input_.reset();
  facts_.take_end(WIFSIGNALED(status_)
                      ? "was ended by signal " + std::to_string(WTERMSIG(status_))
                      : "ended with status " + std::to_string(WEXITSTATUS(status_)));
}

void NvmlSampler::take(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    too_long_ = too_long_ || line_.size() + part.size() > kMaxLine;
    if (too_long_)
      line_.clear();
    else
      line_ += part;
    if (end == std::string_view::npos) return;
    if (!too_long_) facts_.take_line(line_);
    line_.clear();
    too_long_ = false;
    text.remove_prefix(end + 1);
  }
}

bool NvmlSampler::reap(int within_ms) {
  if (pid_ == 0 || reaped_) return true;
  pollfd ended{pidfd_.get(), POLLIN, 0};
  if (pidfd_.valid()) poll(&ended, 1, within_ms);
  reaped_ = waitpid(pid_, &status_, WNOHANG) != 0;
  return reaped_;
}

void NvmlSampler::end(int within_ms) {
  ask_to_end();
  if (reap(within_ms)) return;
  kill(pid_, SIGKILL);
  reap(kKillMs);
}

}  // namespace whystall::capture
