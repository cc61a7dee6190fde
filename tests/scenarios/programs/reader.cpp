// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "die.h"
#include "host_work.h"

namespace loop {

ColdFiles::ColdFiles(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_regular_file()) names.push_back(entry.path());
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) die("no files in %s", directory.c_str());

  std::size_t largest = 0;
  for (const std::string& name : names) {
    const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status{};
    if (fd < 0 || fstat(fd, &status) != 0) die("%s: %s", name.c_str(), std::strerror(errno));
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    largest = std::max(largest, static_cast<std::size_t>(status.st_size));
    files_.push_back(fd);
  }
  buffer_.assign(largest, 0);
}

void ColdFiles::read_next() {
  if (pread(files_[next_], buffer_.data(), buffer_.size(), 0) <= 0) {
    die("pread: %s", std::strerror(errno));
  }
  next_ = (next_ + 1) % files_.size();
}

void ColdFiles::drop() {
  const std::size_t last = (next_ + files_.size() - 1) % files_.size();
  posix_fadvise(files_[last], 0, 0, POSIX_FADV_DONTNEED);
}

namespace {

ssize_t read_retrying(int fd, void* data, std::size_t size) {
  ssize_t n = 0;
  do {
    n = read(fd, data, size);
  } while (n < 0 && errno == EINTR);
  return n;
}

}  // namespace

Worker::Worker(const std::string& directory, const char* name) {
  int to_worker[2], from_worker[2];
  if (pipe2(to_worker, O_CLOEXEC) != 0 || pipe2(from_worker, O_CLOEXEC) != 0) {
    die("pipe: %s", std::strerror(errno));
  }
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) die("fork: %s", std::strerror(errno));
  if (pid_ == 0) {
    // Orphans would keep the mount busy. The parent may have gone before this took effect.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    prctl(PR_SET_NAME, name);
    close(to_worker[1]);
    close(from_worker[0]);
    serve(directory, to_worker[0], from_worker[1]);
  }
  close(to_worker[0]);
  close(from_worker[1]);
  requests_ = to_worker[1];
  answers_ = from_worker[0];
  wait_for_answer();  // its files are open and its memory is there
}

Worker::~Worker() {
  close(requests_);
  close(answers_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Worker::serve(const std::string& directory, int requests, int answers) {
  signal(SIGINT, SIG_IGN);  // a Ctrl-C reaches the whole group; the end of the pipe is what counts
  signal(SIGTERM, SIG_DFL);
  ColdFiles files(directory);
  lock_memory();
  const char answer = 'd';
  if (write(answers, &answer, 1) != 1) _exit(1);
  // Requests that piled up while a read was slow are one request: the asker of those did not wait.
  for (char pending[64]; read_retrying(requests, pending, sizeof pending) > 0;) {
    files.read_next();
    if (write(answers, &answer, 1) != 1) break;
    files.drop();
  }
  _exit(0);
}

void Worker::ask() {
  const char request = 'r';
  if (write(requests_, &request, 1) != 1) die("worker %d is gone", pid_);
}

void Worker::wait_for_answer() {
  char answer = 0;
  if (read_retrying(answers_, &answer, 1) != 1) die("worker %d gave no answer", pid_);
}

void Worker::discard_answers() {
  pollfd wanted{answers_, POLLIN, 0};
  char answers[64];
  if (poll(&wanted, 1, 0) > 0 && read_retrying(answers_, answers, sizeof answers) <= 0) {
    die("worker %d is gone", pid_);
  }
}

}  // namespace loop
