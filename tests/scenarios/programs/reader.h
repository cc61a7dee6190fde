// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace loop {

// The files of a directory in name order, opened once: opening is a request of its own to a FUSE
// file system and would stand beside the read in every step.
class ColdFiles {
 public:
  explicit ColdFiles(const std::string& directory);

  // Reads the next file whole with one pread.
  void read_next();

  // Drops the file just read from the page cache, so that its next read is cold again. Called where
  // nobody waits: its own time must not stand in the stall.
  void drop();

 private:
  std::vector<int> files_;
  std::vector<char> buffer_;
  std::size_t next_ = 0;
};

// A process that reads the next cold file each time it is asked through a pipe.
class Worker {
 public:
  // `name` becomes the process's comm. To be called before the program has threads or a device.
  Worker(const std::string& directory, const char* name);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();  // ends the process and waits for it

  void ask();
  void wait_for_answer();
  pid_t pid() const { return pid_; }

  // For a worker nobody waits for: takes the answers that are there, so that its pipe never fills.
  void discard_answers();

 private:
  [[noreturn]] static void serve(const std::string& directory, int requests, int answers);

  pid_t pid_ = -1;
  int requests_ = -1;
  int answers_ = -1;
};

}  // namespace loop
