// SPDX-License-Identifier: Apache-2.0
//
// dump_waits FILE.wst TID: the waits of a thread as JSON lines, as the recording has them.
#include <cstdio>
#include <cstdlib>

#include "load/load.h"

namespace {

const char* kind_name(unsigned kind) {
  static const char* const kNames[] = {"",        "regular", "directory", "char",     "block",
                                       "pipe",    "socket",  "anon",      "other",    "unix",
                                       "inet",    "eventfd", "epoll",     "timerfd",  "signalfd",
                                       "inotify", "pidfd",   "memfd",     "io_uring", "mqueue"};
  return kind < sizeof kNames / sizeof *kNames ? kNames[kind] : "?";
}

const char* context_name(unsigned context) {
  static const char* const kNames[] = {"task", "softirq", "hardirq", "timer", "localnet"};
  return context < sizeof kNames / sizeof *kNames ? kNames[context] : "?";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto recording = whystall::load::load_recording(argv[1]);
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().text.c_str());
    return 5;
  }
  const unsigned tid = static_cast<unsigned>(std::atoi(argv[2]));
  for (const wst_wait& w : recording->waits) {
    if (w.tid != tid || (w.flags & WST_WAIT_RUNNING)) continue;
    std::printf(
        "{\"nr\":%d,\"file_kind\":\"%s\",\"inode\":%llu,\"position\":%llu,\"out_ns\":%llu,\"wake_"
        "ns\":%llu,"
        "\"in_ns\":%llu,\"blocked\":%d,\"iowait\":%d,\"woken\":%d,\"waker_tid\":%u,\"waker_tgid\":%"
        "u,\"context\":\"%s\","
        "\"state\":%u}\n",
        w.nr, kind_name(w.file_kind), static_cast<unsigned long long>(w.ino),
        static_cast<unsigned long long>(w.pos), static_cast<unsigned long long>(w.out_ns),
        static_cast<unsigned long long>(w.wake_ns), static_cast<unsigned long long>(w.h.ts),
        (w.flags & WST_WAIT_BLOCKED) != 0, (w.flags & WST_WAIT_IOWAIT) != 0,
        (w.flags & WST_WAIT_WOKEN) != 0, w.waker_tid, w.waker_tgid, context_name(w.waker_context),
        w.state);
  }
  return 0;
}
