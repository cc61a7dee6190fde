// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "abi/events.h"
#include "kind.h"

namespace waits {

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_barrier_t barrier;
bool flag;
sem_t semaphore;
int first, second, queue_id, semaphores;
mqd_t queue;

/// A mutex that another thread holds until it is told.
pthread_mutex_t held;
sem_t is_held, let_go;
pid_t holder_tid;

void* hold(void*) {
  holder_tid = static_cast<pid_t>(syscall(SYS_gettid));
  pthread_mutex_lock(&held);
  sem_post(&is_held);
  sem_wait(&let_go);
  pthread_mutex_unlock(&held);
  return nullptr;
}

int make_held_mutex(int protocol) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, protocol);
  pthread_mutex_init(&held, &attributes);
  sem_init(&is_held, 0, 0);
  sem_init(&let_go, 0, 0);
  pthread_t holder;
  must("pthread_create", -pthread_create(&holder, nullptr, hold, nullptr));
  sem_wait(&is_held);
  return -1;
}

void lock_held_mutex() {
  pthread_mutex_lock(&held);
  pthread_mutex_unlock(&held);
}

Facts held_by_holder() {
  return {.flags = WST_WAIT_FUTEX_WORD, .owner = holder_tid, .waker_tid = holder_tid};
}

/// Two open files of one file, the first of which is locked.
int make_locked_file(int (*lock)(int)) {
  char name[] = "/tmp/whystall-waits-XXXXXX";
  first = static_cast<int>(must("mkstemp", mkstemp(name)));
  second = static_cast<int>(must("open", open(name, O_RDWR)));
  unlink(name);
  must("lock", lock(first));
  return second;
}

int record_lock(int fd, int command, short type) {
  struct flock range{};
  range.l_type = type;
  return fcntl(fd, command, &range);
}

void change_semaphore(short by) {
  sembuf change{0, by, 0};
  must("semop", semop(semaphores, &change, 1));
}

struct Message {
  long type;
  char text[4096];
};

}  // namespace

void add_locks(std::vector<Kind>& kinds) {
  kinds.push_back({"mutex", SYS_futex, "", Waker::kThread,
                   [] { return make_held_mutex(PTHREAD_PRIO_NONE); }, lock_held_mutex,
                   [] { sem_post(&let_go); }, held_by_holder});
  kinds.push_back({"mutex with priority inheritance", SYS_futex, "", Waker::kThread,
                   [] { return make_held_mutex(PTHREAD_PRIO_INHERIT); }, lock_held_mutex,
                   [] { sem_post(&let_go); }, held_by_holder});
  kinds.push_back({"condition variable", SYS_futex, "", Waker::kThread,
                   [] {
                     flag = false;
                     return -1;
                   },
                   [] {
                     pthread_mutex_lock(&mutex);
                     while (!flag) pthread_cond_wait(&condition, &mutex);
                     pthread_mutex_unlock(&mutex);
                   },
                   [] {
                     pthread_mutex_lock(&mutex);
                     flag = true;
                     pthread_mutex_unlock(&mutex);
                     pthread_cond_signal(&condition);
                   }});
  kinds.push_back(
      {"semaphore of one process", SYS_futex, "", Waker::kThread,
       [] { return static_cast<int>(must("sem_init", sem_init(&semaphore, 0, 0))) - 1; },
       [] { must("sem_wait", sem_wait(&semaphore)); }, [] { sem_post(&semaphore); }});
  kinds.push_back({"barrier", SYS_futex, "", Waker::kThread,
                   [] { return -1 - pthread_barrier_init(&barrier, nullptr, 2); },
                   [] { pthread_barrier_wait(&barrier); }, [] { pthread_barrier_wait(&barrier); }});
  kinds.push_back(
      {"timed wait that runs out", SYS_futex, "", Waker::kTimer,
       [] { return static_cast<int>(must("sem_init", sem_init(&semaphore, 0, 0))) - 1; },
       [] {
         const std::int64_t end = now_ns() + kWaitNs;
         const timespec until{end / 1'000'000'000, end % 1'000'000'000};
         if (sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) == 0) must("timeout", -1);
       },
       nullptr});
  kinds.push_back({"flock of a file", SYS_flock, "regular", Waker::kThread,
                   [] { return make_locked_file([](int fd) { return flock(fd, LOCK_EX); }); },
                   [] { must("flock", flock(second, LOCK_EX)); },
                   [] { must("flock", flock(first, LOCK_UN)); }});
  kinds.push_back({"record lock of a file", SYS_fcntl, "regular", Waker::kThread,
                   [] {
                     return make_locked_file(
                         [](int fd) { return record_lock(fd, F_OFD_SETLK, F_WRLCK); });
                   },
                   [] { must("fcntl", record_lock(second, F_OFD_SETLKW, F_WRLCK)); },
                   [] { must("fcntl", record_lock(first, F_OFD_SETLK, F_UNLCK)); }});
  kinds.push_back({"flock of a directory", SYS_flock, "directory", Waker::kThread,
                   [] {
                     char name[] = "/tmp/whystall-waits-XXXXXX";
                     if (!mkdtemp(name)) must("mkdtemp", -1);
                     first = static_cast<int>(must("open", open(name, O_RDONLY | O_DIRECTORY)));
                     second = static_cast<int>(must("open", open(name, O_RDONLY | O_DIRECTORY)));
                     rmdir(name);
                     must("flock", flock(first, LOCK_EX));
                     return second;
                   },
                   [] { must("flock", flock(second, LOCK_EX)); },
                   [] { must("flock", flock(first, LOCK_UN)); }});
  kinds.push_back({"System V semaphore", SYS_semtimedop, "", Waker::kThread,
                   [] {
                     semaphores = static_cast<int>(must("semget", semget(IPC_PRIVATE, 1, 0600)));
                     return -1;
                   },
                   [] {
                     change_semaphore(-1);
                     semctl(semaphores, 0, IPC_RMID);
                   },
                   [] { change_semaphore(1); }});
  kinds.push_back({"System V message queue", SYS_msgrcv, "", Waker::kThread,
                   [] {
                     queue_id = static_cast<int>(must("msgget", msgget(IPC_PRIVATE, 0600)));
                     return -1;
                   },
                   [] {
                     Message message{};
                     must("msgrcv", msgrcv(queue_id, &message, sizeof message.text, 0, 0));
                     msgctl(queue_id, IPC_RMID, nullptr);
                   },
                   [] {
                     const Message message{1, {}};
                     must("msgsnd", msgsnd(queue_id, &message, 1, 0));
                   }});
  kinds.push_back({"full System V message queue", SYS_msgsnd, "", Waker::kThread,
                   [] {
                     queue_id = static_cast<int>(must("msgget", msgget(IPC_PRIVATE, 0600)));
                     const Message message{1, {}};
                     while (msgsnd(queue_id, &message, sizeof message.text, IPC_NOWAIT) == 0) {
                     }
                     return -1;
                   },
                   [] {
                     const Message message{1, {}};
                     must("msgsnd", msgsnd(queue_id, &message, sizeof message.text, 0));
                     msgctl(queue_id, IPC_RMID, nullptr);
                   },
                   [] {
                     Message message;
                     must("msgrcv", msgrcv(queue_id, &message, sizeof message.text, 0, 0));
                   }});
  kinds.push_back({"POSIX message queue", SYS_mq_timedreceive, "mqueue", Waker::kThread,
                   [] {
                     const std::string name = "/whystall-waits-" + std::to_string(getpid());
                     mq_attr attributes{};
                     attributes.mq_maxmsg = 1;
                     attributes.mq_msgsize = 8;
                     queue = static_cast<mqd_t>(must(
                         "mq_open", mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, &attributes)));
                     mq_unlink(name.c_str());
                     return static_cast<int>(queue);
                   },
                   [] {
                     char text[8];
                     must("mq_receive", mq_receive(queue, text, sizeof text, nullptr));
                   },
                   [] { must("mq_send", mq_send(queue, "", 1, 0)); }});
}

}  // namespace waits
