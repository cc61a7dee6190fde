// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kind.h"

namespace waits {

namespace {

int fd;
char block[4096];
volatile const char* mapping;

/// A file of the slow directory that is not in the page cache.
int open_cold(const std::string& path) {
  fd = static_cast<int>(must(path.c_str(), open(path.c_str(), O_RDONLY)));
  must("fadvise", -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
  return fd;
}

}  // namespace

void add_slow_files(std::vector<Kind>& kinds, const std::string& directory) {
  const std::string path = directory + "/file.bin";
  auto cold = [path] { return open_cold(path); };
  kinds.push_back({"read of a cold file", SYS_read, "regular", Waker::kAny, cold,
                   [] { must("read", read(fd, block, sizeof block)); }, nullptr,
                   [] { return Facts{.position = 0}; }});
  kinds.push_back({"pread of a cold file", SYS_pread64, "regular", Waker::kAny, cold,
                   [] { must("pread", pread(fd, block, sizeof block, 8192)); }, nullptr,
                   [] { return Facts{.position = 8192}; }});
  kinds.push_back({"readv of a cold file", SYS_readv, "regular", Waker::kAny, cold,
                   [] {
                     iovec part{block, sizeof block};
                     must("readv", readv(fd, &part, 1));
                   },
                   nullptr});
  kinds.push_back({"preadv of a cold file", SYS_preadv, "regular", Waker::kAny, cold,
                   [] {
                     iovec part{block, sizeof block};
                     must("preadv", preadv(fd, &part, 1, 4096));
                   },
                   nullptr, [] { return Facts{.position = 4096}; }});
  kinds.push_back({"page fault of a cold file", -1, "regular", Waker::kAny,
                   [path] {
                     open_cold(path);
                     void* at = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
                     if (at == MAP_FAILED) must("mmap", -1);
                     mapping = static_cast<const char*>(at);
                     return -1;
                   },
                   [] { static_cast<void>(*mapping); }, nullptr});
}

}  // namespace waits
