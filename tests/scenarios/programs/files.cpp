// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "die.h"
#include "works.h"

namespace loop {
namespace {

std::vector<std::string> files_of(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.is_regular_file()) names.push_back(entry.path());
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) die("no files in %s", directory.c_str());
  return names;
}

// The files of a directory in name order, one after the other.
class Files : public Work {
 public:
  explicit Files(const Part& part)
      : names_(files_of(part.directory)), next_(part.first_file % names_.size()) {}

 protected:
  const std::vector<std::string>& names() const { return names_; }
  std::size_t next() {
    last_ = next_;
    next_ = (next_ + 1) % names_.size();
    return last_;
  }
  std::size_t last() const { return last_; }

 private:
  const std::vector<std::string> names_;
  std::size_t next_, last_ = 0;
};

// Opened once: opening is a request of its own to a FUSE file system and would stand beside the
// read in every step.
class OpenFiles : public Files {
 public:
  OpenFiles(const Part& part, int flags) : Files(part) {
    std::size_t largest = 0;
    for (const std::string& name : names()) {
      const int fd = open(name.c_str(), flags | O_CLOEXEC);
      struct stat status{};
      if (fd < 0 || fstat(fd, &status) != 0) die("%s: %s", name.c_str(), std::strerror(errno));
      posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      largest = std::max(largest, static_cast<std::size_t>(status.st_size));
      files_.push_back(fd);
    }
    buffer_.assign(largest, 0);
  }

  // The file just used leaves the page cache, so that its next use is cold again.
  void prepare() override { posix_fadvise(files_[last()], 0, 0, POSIX_FADV_DONTNEED); }

 protected:
  int file(std::size_t i) const { return files_[i]; }
  std::vector<char>& buffer() { return buffer_; }

 private:
  std::vector<int> files_;
  std::vector<char> buffer_;
};

class Read : public OpenFiles {
 public:
  explicit Read(const Part& part) : OpenFiles(part, O_RDONLY) {}
  void run() override {
    if (pread(file(next()), buffer().data(), buffer().size(), 0) <= 0) {
      die("pread: %s", std::strerror(errno));
    }
  }
};

class Write : public OpenFiles {
 public:
  Write(const Part& part, bool sync) : OpenFiles(part, O_WRONLY), sync_(sync) {}
  void run() override {
    const int fd = file(next());
    const auto size = static_cast<ssize_t>(buffer().size());
    if (pwrite(fd, buffer().data(), buffer().size(), 0) != size || (sync_ && fsync(fd) != 0)) {
      die("write: %s", std::strerror(errno));
    }
  }

 private:
  const bool sync_;
};

class Open : public Files {
 public:
  using Files::Files;
  void run() override {
    const int fd = open(names()[next()].c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) die("open: %s", std::strerror(errno));
    close(fd);
  }
};

class Stat : public Files {
 public:
  using Files::Files;
  void run() override {
    // Attributes that the kernel has cached are not asked for again, unless they must be.
    struct statx status{};
    if (statx(AT_FDCWD, names()[next()].c_str(), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status) !=
        0) {
      die("statx: %s", std::strerror(errno));
    }
  }
};

}  // namespace

std::unique_ptr<Work> make_read(const Part& part) {
  return std::make_unique<Read>(part);
}
std::unique_ptr<Work> make_write(const Part& part) {
  return std::make_unique<Write>(part, false);
}
std::unique_ptr<Work> make_fsync(const Part& part) {
  return std::make_unique<Write>(part, true);
}
std::unique_ptr<Work> make_open(const Part& part) {
  return std::make_unique<Open>(part);
}
std::unique_ptr<Work> make_stat(const Part& part) {
  return std::make_unique<Stat>(part);
}

}  // namespace loop
