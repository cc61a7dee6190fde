// SPDX-License-Identifier: Apache-2.0
#include "target/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <thread>

#include "support/recording_file.h"

namespace whystall::target {
namespace {

/// A child that lives until the object goes: it waits for the end of a pipe.
class Child {
 public:
  Child() {
    EXPECT_EQ(pipe2(pipe_, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(pipe_[1]);
      char byte;
      while (::read(pipe_[0], &byte, 1) > 0) {
      }
      _exit(0);
    }
    close(pipe_[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    close(pipe_[1]);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  int pipe_[2] = {-1, -1};
  pid_t pid_ = -1;
};

TEST(LookUp, KnowsThisProcess) {
  const auto process = look_up(getpid());
  ASSERT_TRUE(process.ok()) << process.error().text;
  EXPECT_EQ(process.value().pid, getpid());
  EXPECT_EQ(process.value().comm, "unit_test");
  EXPECT_NE(process.value().command_line.find("unit_test"), std::string::npos);
  EXPECT_EQ(process.value().command_line.find('\0'), std::string::npos);
}

TEST(LookUp, SaysThatThereIsNoSuchProcess) {
  Child child;
  const pid_t gone = child.pid();
  child.end();
  const auto process = look_up(gone);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().code, ErrorCode::kCannotTrace);
  EXPECT_EQ(process.error().text, "there is no process " + std::to_string(gone));
  EXPECT_FALSE(look_up(0).ok());
  EXPECT_FALSE(look_up(-1).ok());
}

TEST(LookUp, OfAThreadNamesItsProcess) {
  std::promise<pid_t> started;
  std::promise<void> done;
  std::thread thread([&] {
    started.set_value(gettid());
    done.get_future().wait();
  });
  const pid_t tid = started.get_future().get();
  const auto process = look_up(tid);
  done.set_value();
  thread.join();
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().code, ErrorCode::kCannotTrace);
  EXPECT_EQ(process.error().text, std::to_string(tid) + " is a thread of process " +
                                      std::to_string(getpid()) + "; give that number");
}

TEST(WithDescendants, StartsWithTheProcessAndHoldsItsChildren) {
  Child first, second;
  const auto found = with_descendants({getpid()});
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), getpid());
  for (const pid_t pid : {first.pid(), second.pid()}) {
    EXPECT_EQ(std::count(found.begin(), found.end(), pid), 1) << pid;
  }
  EXPECT_EQ(std::count(found.begin(), found.end(), getppid()), 0);
}

TEST(WithDescendants, IsNotMisledByBracketsInACommandName) {
  char before[16] = {};
  prctl(PR_GET_NAME, before);
  prctl(PR_SET_NAME, "a) S 1 (b");
  Child child;
  prctl(PR_SET_NAME, before);
  const auto found = with_descendants({getpid()});
  EXPECT_EQ(std::count(found.begin(), found.end(), child.pid()), 1);
}

class DriverLibrary : public ::testing::Test {
 protected:
  void map(const char* name) {
    path_ = dir_.file(name);
    testing::write_bytes(path_, testing::read_bytes(WHYSTALL_TINY_LIBRARY));
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    mapping_ = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    ASSERT_NE(mapping_, MAP_FAILED);
  }
  void TearDown() override {
    if (mapping_ != MAP_FAILED) munmap(mapping_, 4096);
  }

  testing::TempDir dir_;
  std::string path_;
  void* mapping_ = MAP_FAILED;
};

TEST_F(DriverLibrary, IsFoundWhereAProcessHasItMapped) {
  map("libcuda.so.1");
  const auto library = find_driver_library(getpid());
  ASSERT_TRUE(library);
  EXPECT_EQ(library->shown_path, path_);
  EXPECT_EQ(testing::read_bytes(library->open_path), testing::read_bytes(path_));
}

TEST_F(DriverLibrary, IsStillTheMappedFileAfterItsNameWentToAnother) {
  map("libcuda.so.550.54");
  std::filesystem::remove(path_);
  testing::write_bytes(path_, testing::Bytes{'x'});
  const auto library = find_driver_library(getpid());
  ASSERT_TRUE(library);
  EXPECT_EQ(library->shown_path, path_);
  EXPECT_EQ(testing::read_bytes(library->open_path), testing::read_bytes(WHYSTALL_TINY_LIBRARY));
}

TEST_F(DriverLibrary, IsNotAnythingOfASimilarName) {
  map("libcudart.so.12");
  EXPECT_FALSE(find_driver_library(getpid()));
}

}  // namespace
}  // namespace whystall::target
