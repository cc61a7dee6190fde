// SPDX-License-Identifier: Apache-2.0
//
// io_uring by its raw calls: the thread that waits for completions, and the kernel's worker that
// does the reading.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "abi/events.h"
#include "kind.h"

namespace waits {

namespace {

constexpr unsigned kEntries = 4;
/// Behind the page that another kind has mapped, which stays in memory for that.
constexpr std::int64_t kColdOffset = 32768;

int ring, ends[2], file;
io_uring_params parameters;
char *submissions, *completions;
io_uring_sqe* requests;
char block[4096];

long enter(unsigned submit, unsigned least, unsigned flags) {
  return syscall(SYS_io_uring_enter, ring, submit, least, flags, nullptr, 0);
}

char* map_ring(std::uint64_t offset, std::size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                  static_cast<off_t>(offset));
  if (at == MAP_FAILED) must("mmap of a ring", -1);
  return static_cast<char*>(at);
}

int make_ring() {
  parameters = {};
  ring =
      static_cast<int>(must("io_uring_setup", syscall(SYS_io_uring_setup, kEntries, &parameters)));
  submissions = map_ring(IORING_OFF_SQ_RING,
                         parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned));
  completions = map_ring(IORING_OFF_CQ_RING,
                         parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe));
  requests = reinterpret_cast<io_uring_sqe*>(
      map_ring(IORING_OFF_SQES, parameters.sq_entries * sizeof(io_uring_sqe)));
  return ring;
}

unsigned& of_submissions(unsigned offset) {
  return *reinterpret_cast<unsigned*>(submissions + offset);
}

/// Asks for a read and waits until it is done.
void read_through_ring(int fd, std::int64_t offset, unsigned flags) {
  requests[0] = {};
  requests[0].opcode = IORING_OP_READ;
  requests[0].flags = static_cast<__u8>(flags);
  requests[0].fd = fd;
  requests[0].off = static_cast<std::uint64_t>(offset);
  requests[0].addr = reinterpret_cast<std::uint64_t>(block);
  requests[0].len = sizeof block;
  of_submissions(parameters.sq_off.array) = 0;
  __atomic_store_n(&of_submissions(parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
  must("io_uring_enter", enter(1, 1, IORING_ENTER_GETEVENTS));
  const auto* done = reinterpret_cast<io_uring_cqe*>(completions + parameters.cq_off.cqes);
  errno = -done->res;
  must("read by io_uring", done->res > 0 ? 0 : -1);
}

int open_cold(const std::string& path) {
  make_ring();
  file = static_cast<int>(must(path.c_str(), open(path.c_str(), O_RDONLY)));
  must("fadvise", -posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
  return file;
}

}  // namespace

std::string add_uring(std::vector<Kind>& kinds, const std::string& directory) {
  parameters = {};
  const long tried = syscall(SYS_io_uring_setup, kEntries, &parameters);
  if (tried < 0) return std::string("io_uring: ") + std::strerror(errno);
  close(static_cast<int>(tried));
  const std::string path = directory + "/file.bin";
  kinds.push_back({"io_uring_enter for a pipe", SYS_io_uring_enter, "io_uring", Waker::kThread,
                   [] {
                     must("pipe", pipe(ends));
                     return make_ring();
                   },
                   [] { read_through_ring(ends[0], 0, 0); },
                   [] { must("write", write(ends[1], block, 1)); },
                   [] { return Facts{.waker_fd = ends[1]}; }});
  kinds.push_back({"io_uring_enter for a worker", SYS_io_uring_enter, "io_uring", Waker::kAny,
                   [path] {
                     open_cold(path);
                     return ring;
                   },
                   [] { read_through_ring(file, kColdOffset, IOSQE_ASYNC); }, nullptr});
  kinds.push_back({"read by a worker of io_uring", -1, "regular", Waker::kAny,
                   [path] { return open_cold(path); },
                   [] { read_through_ring(file, kColdOffset, IOSQE_ASYNC); }, nullptr,
                   [] {
                     return Facts{
                         .flags = WST_WAIT_IO_WORKER, .position = kColdOffset, .io_worker = true};
                   }});
  return "";
}

}  // namespace waits
