// SPDX-License-Identifier: Apache-2.0
#include "target/command.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "base/pipe.h"

namespace whystall::target {

namespace {

Error cannot_start(const std::string& name, int error) {
  return {ErrorCode::kCannotTrace, "cannot start " + name + ": " + std::strerror(error)};
}

/// What execvp would say: known before anything is attached or written.
Status find_program(const std::string& name) {
  int error = ENOENT;
  auto runs = [&](const std::string& path) {
    if (access(path.c_str(), X_OK) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    return false;
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) return Nothing{};
    return cannot_start(name, error);
  }
  const char* path = std::getenv("PATH");
  std::istringstream directories(path ? path : "/bin:/usr/bin");
  std::string directory;
  while (std::getline(directories, directory, ':')) {
    if (runs((directory.empty() ? "." : directory) + "/" + name)) return Nothing{};
  }
  return cannot_start(name, error);
}

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void wait_and_exec(char* const* arguments, int go, int failure) {
  char byte;
  ssize_t n;
  do n = read(go, &byte, 1);
  while (n < 0 && errno == EINTR);
  if (n != 1) _exit(0);  // never let go
  // What this program ignores or catches is not the command's affair.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(number, SIG_DFL);
  execvp(arguments[0], arguments);
  const int error = errno;
  n = write(failure, &error, sizeof error);
  _exit(127);
}

}  // namespace

HeldCommand::HeldCommand(pid_t pid, std::string name, Fd go, Fd failure)
    : pid_(pid), name_(std::move(name)), go_(std::move(go)), failure_(std::move(failure)) {}

HeldCommand::HeldCommand(HeldCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      name_(std::move(other.name_)),
      go_(std::move(other.go_)),
      failure_(std::move(other.failure_)) {}

HeldCommand::~HeldCommand() {
  if (pid_ < 0) return;
  const bool held = go_.valid();
  go_.reset();
  if (held) waitpid(pid_, nullptr, 0);
}

Result<HeldCommand> HeldCommand::hold(const std::vector<std::string>& arguments) {
  if (auto status = find_program(arguments.front()); !status) return status.error();
  auto go = make_pipe();
  if (!go) return go.error();
  auto failure = make_pipe();
  if (!failure) return failure.error();
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);

  const pid_t pid = fork();
  if (pid < 0)
    return Error{ErrorCode::kCannotTrace,
                 std::string("cannot start a process: ") + std::strerror(errno)};
  if (pid == 0) {
    // Its own copy of the other end would keep it waiting for ever.
    go->write.reset();
    wait_and_exec(pointers.data(), go->read.get(), failure->write.get());
  }
  return HeldCommand(pid, arguments.front(), std::move(go->write), std::move(failure->read));
}

bool HeldCommand::runs() const {
  return !go_.valid() && waitpid(pid_, nullptr, WNOHANG) == 0;
}

Status HeldCommand::release() {
  const char byte = 1;
  const ssize_t written = write(go_.get(), &byte, 1);
  go_.reset();
  int error = written == 1 ? 0 : EPIPE;
  ssize_t n;
  do n = read(failure_.get(), &error, sizeof error);
  while (n < 0 && errno == EINTR);
  failure_.reset();
  if (n == 0 && written == 1) return Nothing{};
  waitpid(pid_, nullptr, 0);
  return cannot_start(name_, error);
}

}  // namespace whystall::target
