// SPDX-License-Identifier: Apache-2.0
#include "ledger/names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "abi/syscalls.h"

namespace whystall::ledger {

namespace {

struct Call {
  std::int32_t nr;
  std::string_view name;
};

// As a user would say it: several calls that do the same have one name.
constexpr Call kCalls[] = {
    {WST_NR_READ, "read"},
    {WST_NR_WRITE, "write"},
    {WST_NR_OPEN, "open"},
    {WST_NR_CLOSE, "close"},
    {WST_NR_STAT, "stat"},
    {WST_NR_FSTAT, "stat"},
    {WST_NR_POLL, "poll"},
    {WST_NR_IOCTL, "ioctl"},
    {WST_NR_PREAD64, "pread"},
    {WST_NR_PWRITE64, "pwrite"},
    {WST_NR_READV, "readv"},
    {WST_NR_WRITEV, "writev"},
    {WST_NR_SELECT, "select"},
    {WST_NR_MSYNC, "msync"},
    {WST_NR_PAUSE, "pause"},
    {WST_NR_NANOSLEEP, "nanosleep"},
    {WST_NR_SENDFILE, "sendfile"},
    {WST_NR_CONNECT, "connect"},
    {WST_NR_ACCEPT, "accept"},
    {WST_NR_SENDTO, "sendto"},
    {WST_NR_RECVFROM, "recvfrom"},
    {WST_NR_SENDMSG, "sendmsg"},
    {WST_NR_RECVMSG, "recvmsg"},
    {WST_NR_VFORK, "vfork"},
    {WST_NR_WAIT4, "wait4"},
    {WST_NR_SEMOP, "semop"},
    {WST_NR_MSGSND, "msgsnd"},
    {WST_NR_MSGRCV, "msgrcv"},
    {WST_NR_FCNTL, "fcntl"},
    {WST_NR_FLOCK, "flock"},
    {WST_NR_FSYNC, "fsync"},
    {WST_NR_FDATASYNC, "fdatasync"},
    {WST_NR_FTRUNCATE, "ftruncate"},
    {WST_NR_GETDENTS, "getdents"},
    {WST_NR_SIGTIMEDWAIT, "sigtimedwait"},
    {WST_NR_SIGSUSPEND, "sigsuspend"},
    {WST_NR_READAHEAD, "readahead"},
    {WST_NR_FUTEX, "futex"},
    {WST_NR_IO_GETEVENTS, "io_getevents"},
    {WST_NR_GETDENTS64, "getdents"},
    {WST_NR_SEMTIMEDOP, "semop"},
    {WST_NR_CLOCK_NANOSLEEP, "nanosleep"},
    {WST_NR_EPOLL_WAIT, "epoll"},
    {WST_NR_MQ_TIMEDSEND, "mq_send"},
    {WST_NR_MQ_TIMEDRECEIVE, "mq_receive"},
    {WST_NR_WAITID, "waitid"},
    {WST_NR_OPENAT, "open"},
    {WST_NR_NEWFSTATAT, "stat"},
    {WST_NR_PSELECT6, "select"},
    {WST_NR_PPOLL, "poll"},
    {WST_NR_SPLICE, "splice"},
    {WST_NR_EPOLL_PWAIT, "epoll"},
    {WST_NR_FALLOCATE, "fallocate"},
    {WST_NR_ACCEPT4, "accept"},
    {WST_NR_PREADV, "preadv"},
    {WST_NR_PWRITEV, "pwritev"},
    {WST_NR_RECVMMSG, "recvmmsg"},
    {WST_NR_SYNCFS, "syncfs"},
    {WST_NR_SENDMMSG, "sendmmsg"},
    {WST_NR_COPY_FILE_RANGE, "copy_file_range"},
    {WST_NR_PREADV2, "preadv"},
    {WST_NR_PWRITEV2, "pwritev"},
    {WST_NR_IO_URING_ENTER, "io_uring"},
    {WST_NR_EPOLL_PWAIT2, "epoll"},
    {WST_NR_FUTEX_WAITV, "futex"},
    {WST_NR_FUTEX_WAIT, "futex"},
};

std::string_view kind_name(std::uint8_t kind) {
  switch (kind) {
    case WST_FILE_PIPE:
      return " pipe";
    case WST_FILE_SOCKET:
      return " socket";
    case WST_FILE_UNIX:
      return " unix socket";
    case WST_FILE_INET:
      return " network socket";
    case WST_FILE_CHAR:
      return " device";
    case WST_FILE_EVENTFD:
      return " eventfd";
    case WST_FILE_TIMERFD:
      return " timerfd";
    case WST_FILE_SIGNALFD:
      return " signalfd";
    case WST_FILE_INOTIFY:
      return " inotify";
    case WST_FILE_PIDFD:
      return " pidfd";
    case WST_FILE_MQUEUE:
      return " message queue";
    default:
      return "";
  }
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string extension_of(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  const std::size_t slash = path.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return "";
  return path.substr(dot);
}

}  // namespace

std::string call_name(const model::Hop& hop) {
  if (hop.nr < 0) return "";
  for (const Call& call : kCalls) {
    if (call.nr == hop.nr) return std::string(call.name) + std::string(kind_name(hop.file_kind));
  }
  return "syscall " + std::to_string(hop.nr);
}

std::string describe_files(std::span<const std::string> paths) {
  if (paths.empty()) return "";
  if (paths.size() == 1) return paths.front();
  std::string common = directory_of(paths.front());
  std::string extension = extension_of(paths.front());
  for (const std::string& path : paths) {
    const std::string prefix = common == "/" ? "/" : common + "/";
    if (!path.starts_with(prefix)) {
      while (common != "/" && !path.starts_with(common + "/")) common = directory_of(common);
    }
    if (extension_of(path) != extension) extension.clear();
  }
  return (common == "/" ? "/*" : common + "/*") + extension + " (" + std::to_string(paths.size()) +
         " files)";
}

Names::Names(const model::Recording& recording)
    : recording_(recording), code_(recording), runners_(recording.runners) {
  for (const wst_slice& s : recording.slices) {
    std::string name(s.comm, strnlen(s.comm, sizeof s.comm));
    if (s.tid == s.tgid || !runners_.contains(s.tgid)) runners_[s.tgid] = std::move(name);
  }
}

std::string Names::comm(model::Tid tid) const {
  const auto task = recording_.tasks.find(tid);
  return task == recording_.tasks.end() || task->second.comm.empty() ? "?" : task->second.comm;
}

std::string Names::thread(model::Tid tid) const {
  return comm(tid) + " " + std::to_string(tid);
}

std::string Names::process(model::Pid pid) const {
  if (pid == 0) return "several processes";
  if (recording_.tasks.contains(pid)) return comm(pid);
  const auto runner = runners_.find(pid);
  if (runner != runners_.end()) return runner->second;
  for (const auto& [tid, task] : recording_.tasks) {
    if (task.pid == pid) return task.comm;
  }
  return "?";
}

std::string Names::call(std::uint16_t symbol) const {
  const auto& symbols = recording_.meta.api_symbols;
  if (symbol >= symbols.size() || symbols[symbol].empty()) return "a driver call";
  std::string_view name = symbols[symbol];
  for (const std::string_view suffix : {"_ptsz", "_ptds", "_v2", "_v3", "_v4"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return std::string(name);
}

std::string Names::file(const model::FileKey& key) const {
  if (const auto file = model::find_file(recording_, key))
    return file->path + (file->deleted ? " (deleted)" : "");
  if (key.ino == 0) return "a file";
  return "inode " + std::to_string(key.ino) + " on device " + std::to_string(key.dev >> 20) + ":" +
         std::to_string(key.dev & 0xfffff);
}

std::string Names::fs_type(const model::FileKey& key) const {
  const model::File* file = model::find_file(recording_, key);
  return file ? file->fs_type : "";
}

std::string Names::socket(std::uint64_t ino) const {
  for (const wst_end& end : recording_.ends) {
    if (end.ino != ino || end.file_kind != WST_FILE_INET || end.remote_port == 0) continue;
    char address[INET6_ADDRSTRLEN] = "?";
    inet_ntop(end.family == AF_INET6 ? AF_INET6 : AF_INET, end.remote_address, address,
              sizeof address);
    return std::string(address) + (end.family == AF_INET6 ? " port " : ":") +
           std::to_string(end.remote_port);
  }
  return ino == 0 ? "a socket" : "socket " + std::to_string(ino);
}

std::string Names::lock(std::uint64_t address, model::Tid holder) const {
  char text[32];
  std::snprintf(text, sizeof text, "lock 0x%llx", static_cast<unsigned long long>(address));
  return text + (holder ? " held by " + thread(holder) : std::string());
}

std::string Names::stop(model::Pid by) const {
  return by == 0 ? " stopped" : " stopped, let go on by " + process(by) + " " + std::to_string(by);
}

std::string Names::chain(std::span<const model::Hop> hops) const {
  std::string text;
  bool held = false;  // the one before waits for a lock of this one
  for (const model::Hop& hop : hops) {
    if (!text.empty()) text += held ? " held by " : " ← ";
    text += thread(hop.tid);
    held = hop.lock != 0 && &hop != &hops.back();
    if (hop.lock != 0)
      text += " ← " + lock(hop.lock, 0);
    else if (const std::string call = call_name(hop); !call.empty())
      text += " ← " + call;
  }
  return text;
}

std::vector<model::ChainHop> Names::hops(std::span<const model::Hop> hops) const {
  std::vector<model::ChainHop> words;
  for (const model::Hop& hop : hops)
    words.push_back({hop.tid, thread(hop.tid), call_name(hop), hop.at, hop.lock});
  return words;
}

model::FindingObject Names::object(model::Cause cause, const model::Object& id) const {
  model::FindingObject object;
  object.id = id;
  switch (cause) {
    case model::Cause::kStorageRead:
    case model::Cause::kStorageFault:
    case model::Cause::kStorageMetadata:
    case model::Cause::kStorageWrite:
      object.kind = "file";
      object.name = file(id.file);
      break;
    case model::Cause::kLockUser:
    case model::Cause::kLockGil:
    case model::Cause::kLockKernel:
      object.kind = "lock";
      object.comm = comm(id.tid);
      object.name = lock(id.address, id.tid);
      if (id.tid == 0)
        object.name += ", holder not known";
      else
        object.name += id.slept ? ", which slept" : ", which computed";
      break;
    case model::Cause::kCpuContention:
    case model::Cause::kCpuOversubscription:
    case model::Cause::kObserver:
    case model::Cause::kIpcWorker:
    case model::Cause::kIpcChild:
    case model::Cause::kGpuLaunch:
      object.kind = "process";
      object.comm = process(id.pid);
      object.name = id.pid == 0 ? object.comm : object.comm + " " + std::to_string(id.pid);
      break;
    case model::Cause::kIpcPipe:
      object.kind = "pipe";
      object.comm = id.pid == 0 ? "" : process(id.pid);
      object.name = "pipe " + std::to_string(id.ino);
      if (id.pid) object.name += ", other end " + object.comm + " " + std::to_string(id.pid);
      break;
    case model::Cause::kNetRemote:
      object.kind = "socket";
      object.name = socket(id.ino);
      break;
    case model::Cause::kCpuStopped:
      object.kind = "stop";
      object.comm = comm(id.tid);
      object.name = thread(id.tid) + stop(id.pid);
      break;
    case model::Cause::kCpuBusy:
    case model::Cause::kMemoryFault:
    case model::Cause::kCpuThrottled:
    case model::Cause::kCpuWakeup:
    case model::Cause::kCpuWaiting:
    case model::Cause::kWaitSleep:
    case model::Cause::kWaitIdle:
    case model::Cause::kWaitPolling:
      object.kind = "thread";
      object.comm = comm(id.tid);
      object.name = thread(id.tid);
      break;
    case model::Cause::kGpuSync:
    case model::Cause::kGpuTransfer:
    case model::Cause::kGpuAlloc:
      object.kind = "call";
      object.comm = comm(id.tid);
      object.name = call(id.symbol) + " by " + thread(id.tid);
      break;
    case model::Cause::kGpuDriver: {
      char command[64];
      std::snprintf(command, sizeof command, "ioctl 0x%x on device %u:%u", id.command,
                    id.rdev >> 20, id.rdev & 0xfffff);
      object.kind = "call";
      object.comm = comm(id.tid);
      object.name = std::string(command) + " by " + thread(id.tid);
      break;
    }
    case model::Cause::kUnknown:
      object.kind = "reason";
      object.name = std::string(model::reason_text(id.reason));
      break;
  }
  return object;
}

}  // namespace whystall::ledger
