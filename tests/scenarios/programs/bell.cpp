// SPDX-License-Identifier: Apache-2.0
#include "bell.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "die.h"

namespace loop {
namespace {

// Memory that a forked process has in common with this one.
template <typename T>
T* make_shared_memory() {
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) die("mmap: %s", std::strerror(errno));
  return new (memory) T;
}

class FileBell : public Bell {
 public:
  FileBell(int ringing, int waiting, int listening = -1)
      : ringing_(ringing), waiting_(waiting), listening_(listening) {}
  ~FileBell() override {
    only_rings();
    only_waits();
  }

  void ring() override {
    const std::uint64_t one = 1;  // what an eventfd takes
    if (write(ringing_, &one, sizeof one) != sizeof one) die("ring: %s", std::strerror(errno));
  }

  bool wait() override {
    char rings[64];
    ssize_t n = 0;
    do {
      n = read(waiting_, rings, sizeof rings);
    } while (n < 0 && errno == EINTR);
    return n > 0;
  }

  void only_rings() override {
    close_once(waiting_);
    close_once(listening_);
  }
  void only_waits() override { close_once(ringing_); }

 private:
  static void close_once(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  int ringing_, waiting_;
  int listening_;  // a server goes on to listen
};

std::unique_ptr<Bell> make_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) die("pipe: %s", std::strerror(errno));
  return std::make_unique<FileBell>(fds[1], fds[0]);
}

std::unique_ptr<Bell> make_socket() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    die("socketpair: %s", std::strerror(errno));
  }
  return std::make_unique<FileBell>(fds[1], fds[0]);
}

std::unique_ptr<Bell> make_eventfd() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) die("eventfd: %s", std::strerror(errno));
  return std::make_unique<FileBell>(fd, dup(fd));
}

// A word that tells how often it rang.
class WordBell : public Bell {
 public:
  void ring() override { rang_->fetch_add(1); }

 protected:
  bool rang_since() {
    const std::uint32_t now = rang_->load();
    const bool any = now != seen_;
    seen_ = now;
    return any;
  }
  std::uint32_t* word() { return reinterpret_cast<std::uint32_t*>(rang_); }
  std::uint32_t seen() const { return seen_; }

 private:
  std::atomic<std::uint32_t>* const rang_ = make_shared_memory<std::atomic<std::uint32_t>>();
  std::uint32_t seen_ = 0;
};

class FutexBell : public WordBell {
 public:
  void ring() override {
    WordBell::ring();
    syscall(SYS_futex, word(), FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  bool wait() override {
    while (!rang_since()) syscall(SYS_futex, word(), FUTEX_WAIT, seen(), nullptr, nullptr, 0);
    return true;
  }
};

class SpinBell : public WordBell {
 public:
  bool wait() override {
    while (!rang_since()) __builtin_ia32_pause();
    return true;
  }
};

class YieldBell : public WordBell {
 public:
  bool wait() override {
    while (!rang_since()) sched_yield();
    return true;
  }
};

class SemaphoreBell : public Bell {
 public:
  SemaphoreBell() { sem_init(semaphore_, 1, 0); }
  void ring() override { sem_post(semaphore_); }
  bool wait() override {
    while (sem_wait(semaphore_) != 0) {
    }
    while (sem_trywait(semaphore_) == 0) {
    }
    return true;
  }

 private:
  sem_t* const semaphore_ = make_shared_memory<sem_t>();
};

class ConditionBell : public Bell {
 public:
  void ring() override {
    pthread_mutex_lock(&mutex_);
    rang_ = true;
    pthread_mutex_unlock(&mutex_);
    pthread_cond_signal(&condition_);
  }
  bool wait() override {
    pthread_mutex_lock(&mutex_);
    while (!rang_) pthread_cond_wait(&condition_, &mutex_);
    rang_ = false;
    pthread_mutex_unlock(&mutex_);
    return true;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
  bool rang_ = false;
};

class SignalBell : public Bell {
 public:
  SignalBell() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  void ring() override {
    if (tgkill(pid_, tid_, SIGUSR1) != 0) die("tgkill: %s", std::strerror(errno));
  }
  bool wait() override {
    while (sigwaitinfo(&set_, nullptr) != SIGUSR1) {
    }
    return true;
  }

 private:
  sigset_t set_;
  const pid_t pid_ = getpid(), tid_ = gettid();
};

}  // namespace

std::unique_ptr<Bell> make_bell(Means means) {
  switch (means) {
    case Means::kPipe:
      return make_pipe();
    case Means::kSocket:
      return make_socket();
    case Means::kEventfd:
      return make_eventfd();
    case Means::kFutex:
      return std::make_unique<FutexBell>();
    case Means::kSemaphore:
      return std::make_unique<SemaphoreBell>();
    case Means::kCondition:
      return std::make_unique<ConditionBell>();
    case Means::kSpin:
      return std::make_unique<SpinBell>();
    case Means::kYield:
      return std::make_unique<YieldBell>();
    case Means::kSignal:
      return std::make_unique<SignalBell>();
  }
  die("no such bell");
}

Bells make_tcp_bells() {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* name = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  int server = -1;
  if (bind(listening, name, size) != 0 || listen(listening, 1) != 0 ||
      getsockname(listening, name, &size) != 0 || connect(client, name, size) != 0 ||
      (server = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC)) < 0) {
    die("TCP: %s", std::strerror(errno));
  }
  for (const int fd : {client, server}) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return {std::make_unique<FileBell>(client, server, listening),
          std::make_unique<FileBell>(dup(server), dup(client))};
}

}  // namespace loop
