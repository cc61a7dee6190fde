// SPDX-License-Identifier: Apache-2.0
#include "testing.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace gpusim::testing {

Cuda Cuda::load() {
  Cuda cuda = {};
  cuda.library = dlopen(GPUSIM_LIB, RTLD_NOW | RTLD_LOCAL);
  if (!cuda.library) {
    ADD_FAILURE() << dlerror();
    return cuda;
  }
#define GPUSIM_FUNCTION(name)                                                    \
  cuda.name = reinterpret_cast<decltype(cuda.name)>(dlsym(cuda.library, #name)); \
  EXPECT_NE(cuda.name, nullptr) << #name;
#include "testing_functions.h"
#undef GPUSIM_FUNCTION
#define GPUSIM_TWIN(name, suffix)                                                        \
  cuda.name##suffix =                                                                    \
      reinterpret_cast<decltype(cuda.name##suffix)>(dlsym(cuda.library, #name #suffix)); \
  EXPECT_NE(cuda.name##suffix, nullptr) << #name #suffix;
#include "cuda_twins.h"
#undef GPUSIM_TWIN
  return cuda;
}

pid_t start_daemon(const std::string& dir, const std::vector<std::string>& options, bool* ready) {
  int line[2];
  if (pipe(line) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(line[1], STDOUT_FILENO);
    close(line[0]);
    close(line[1]);
    std::vector<std::string> words = {GPUSIM_DAEMON, "--dir", dir};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(GPUSIM_DAEMON, arguments.data());
    _exit(127);
  }
  close(line[1]);
  std::string text;
  char c = 0;
  while (read(line[0], &c, 1) == 1 && c != '\n') text += c;
  close(line[0]);
  *ready = text == "ready " + dir;
  return pid;
}

Daemon::Daemon(std::vector<std::string> options, const std::string& parent) {
  dir_ = parent + "/gpusim-test-XXXXXX";
  if (!mkdtemp(dir_.data())) return;
  pid_ = start_daemon(dir_, options, &ready_);
}

Daemon::~Daemon() {
  if (pid_ > 0) stop(SIGTERM);
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

int Daemon::stop(int signal) {
  kill(pid_, signal);
  return wait_status(std::exchange(pid_, -1));
}

std::vector<ScheduledOp> Daemon::schedule() {
  const int status = stop(SIGTERM);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "gpusimd ended with " << status;
  std::ifstream file(dir_ + "/schedule.ndjson");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(nlohmann::json::parse(line).at("gpusim_schedule"), 1);
  std::vector<ScheduledOp> ops;
  while (std::getline(file, line)) {
    const auto op = nlohmann::json::parse(line);
    ops.push_back({op.at("op"), op.at("pid"), op.at("tid"), op.at("ctx"), op.at("stream"),
                   op.at("kind"), op.at("name"), op.at("bytes"), op.at("api_ns"), op.at("start_ns"),
                   op.at("end_ns"), op.value("graph", 0U),
                   op.value("slices", std::vector<std::pair<int64_t, int64_t>>())});
    EXPECT_EQ(ops.back().number, ops.size() - 1);
    EXPECT_LE(ops.back().api_ns, ops.back().start_ns);
    EXPECT_LE(ops.back().start_ns, ops.back().end_ns);
  }
  return ops;
}

namespace {

// Failures so far in this test, in this process and in those it was forked from.
int failures() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

}  // namespace

pid_t start_client(const std::string& dir, const std::function<void(const Cuda&)>& body) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("GPUSIM_DIR", dir.c_str(), 1);
  const int inherited = failures();
  const Cuda cuda = Cuda::load();
  if (failures() == inherited) body(cuda);
  std::fflush(nullptr);
  _exit(failures() == inherited ? 0 : 1);
}

int wait_status(pid_t pid) {
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void run_client(const std::string& dir, const std::function<void(const Cuda&)>& body) {
  const int status = wait_status(start_client(dir, body));
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "client ended with " << status;
}

Client::Client(const Cuda& library, unsigned int flags, CUdevice device) : cuda(library) {
  EXPECT_EQ(cuda.cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuCtxCreate_v2(&context, flags, device), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuModuleLoadData(&module, "kernel spin_ns\n"), CUDA_SUCCESS);
  EXPECT_EQ(cuda.cuModuleGetFunction(&spin, module, "spin_ns"), CUDA_SUCCESS);
}

CUresult Client::launch(int64_t ns, CUstream target) const {
  return launch_by(cuda.cuLaunchKernel, ns, target);
}

CUresult Client::launch_by(decltype(&::cuLaunchKernel) entry, int64_t ns, CUstream target) const {
  auto duration = static_cast<uint64_t>(ns);
  void* params[] = {&duration};
  return entry(spin, 1, 1, 1, 32, 1, 1, 0, target, params, nullptr);
}

CUstream Client::stream(unsigned int flags) const {
  CUstream created = nullptr;
  EXPECT_EQ(cuda.cuStreamCreate(&created, flags), CUDA_SUCCESS);
  return created;
}

CUevent Client::event(unsigned int flags) const {
  CUevent created = nullptr;
  EXPECT_EQ(cuda.cuEventCreate(&created, flags), CUDA_SUCCESS);
  return created;
}

}  // namespace gpusim::testing
