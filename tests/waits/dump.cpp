// SPDX-License-Identifier: Apache-2.0
//
// dump_waits FILE.wst: tasks, waits, sums, sets of polled files, files, ends, calls of the driver
// and losses as JSON lines, as the recording has them and in its order; the names of the driver's
// probed functions, of which the last are all; and what whystall cost.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "abi/events.h"
#include "recording/reader.h"

namespace {

using nlohmann::json;
using Bytes = std::span<const std::byte>;

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

template <typename Record>
Record copy(Bytes bytes) {
  Record record{};
  std::memcpy(static_cast<void*>(&record), bytes.data(), std::min(bytes.size(), sizeof record));
  return record;
}

json task(const wst_task& t) {
  return {{"record", "task"},
          {"tid", t.tid},
          {"tgid", t.tgid},
          {"ns_tid", t.ns_tid},
          {"comm", std::string(t.comm, strnlen(t.comm, sizeof t.comm))},
          {"target", (t.flags & WST_TASK_TARGET) != 0},
          {"recruited", (t.flags & WST_TASK_RECRUITED) != 0},
          {"kernel", (t.flags & WST_TASK_KERNEL) != 0}};
}

json wait(const wst_wait& w) {
  return {{"record", "wait"},
          {"tid", w.tid},
          {"tgid", w.tgid},
          {"nr", w.nr},
          {"flags", w.flags},
          {"state", w.state},
          {"blocked", (w.flags & WST_WAIT_BLOCKED) != 0},
          {"open", (w.flags & WST_WAIT_OPEN) != 0},
          {"file_kind", kind_name(w.file_kind)},
          {"inode", w.ino},
          {"rdev", w.rdev},
          {"position", w.pos},
          {"out_ns", w.out_ns},
          {"wake_ns", w.wake_ns},
          {"in_ns", w.h.ts},
          {"woken", (w.flags & WST_WAIT_WOKEN) != 0},
          {"waker_tid", w.waker_tid},
          {"waker_tgid", w.waker_tgid},
          {"waker_inode", w.waker_ino},
          {"context", context_name(w.waker_context)},
          {"futex_owner", w.futex_owner},
          {"throttled_ns", w.throttled_ns}};
}

json sum(const wst_sums& head, const wst_sum& s) {
  return {{"record", "sum"},
          {"tid", head.tid},
          {"tgid", head.tgid},
          {"journal", (head.flags & WST_SUMS_JOURNAL) != 0},
          {"from_ns", head.from_ns},
          {"until_ns", head.h.ts},
          {"nr", s.nr},
          {"file_kind", kind_name(s.file_kind)},
          {"object", s.object},
          {"count", s.count},
          {"first_ns", s.first_ns},
          {"out_ns", s.out_ns},
          {"in_ns", s.in_ns},
          {"blocked_ns", s.blocked_ns},
          {"runnable_ns", s.runnable_ns},
          {"woken", (s.flags & WST_WAIT_WOKEN) != 0},
          {"waker_tid", s.waker_tid},
          {"waker_tgid", s.waker_tgid},
          {"context", context_name(s.waker_context)}};
}

json pollset(const wst_pollset& p) {
  json files = json::array();
  for (__u32 i = 0; i < p.count && i < WST_MAX_POLLED; i++) files.push_back(p.files[i].ino);
  return {{"record", "pollset"},
          {"tid", p.tid},
          {"out_ns", p.out_ns},
          {"total", p.total},
          {"inodes", files}};
}

/// The path from the root, as its components come from the leaf.
json file(Bytes bytes) {
  const auto f = copy<wst_file>(bytes);
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof f;
  std::string path;
  for (std::size_t at = 0; at < f.path_len;) {
    const std::string part(text + at, strnlen(text + at, f.path_len - at));
    path = "/" + part + path;
    at += part.size() + 1;
  }
  return {{"record", "file"},
          {"inode", f.ino},
          {"dev", f.dev},
          {"path", path},
          {"fs", std::string(f.fs_type, strnlen(f.fs_type, sizeof f.fs_type))},
          {"deleted", (f.flags & WST_PATH_DELETED) != 0},
          {"truncated", (f.flags & WST_PATH_TRUNCATED) != 0}};
}

json end(const wst_end& e) {
  return {{"record", "end"},
          {"inode", e.ino},
          {"peer_inode", e.peer_ino},
          {"tgid", e.tgid},
          {"fd", e.fd},
          {"file_kind", kind_name(e.file_kind)},
          {"reads", (e.flags & WST_END_READS) != 0},
          {"writes", (e.flags & WST_END_WRITES) != 0},
          {"local_port", e.local_port},
          {"remote_port", e.remote_port}};
}

json api(const wst_api& a) {
  return {{"record", "api"},
          {"tid", a.tid},
          {"tgid", a.tgid},
          {"call", a.call},
          {"symbol", a.symbol},
          {"stream", a.stream},
          {"event", a.event},
          {"entry_ns", a.entry_ns},
          {"last_ns", std::max(a.last_ns, a.entry_ns)},
          {"ts", a.h.ts},
          {"ret", a.ret},
          {"bytes", a.bytes},
          {"stolen_ns", a.stolen_ns},
          {"count", a.count},
          {"submits", a.submits}};
}

void print(const json& line) {
  std::puts(line.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
}

void show(Bytes bytes) {
  switch (copy<wst_hdr>(bytes).kind) {
    case WST_TASK:
      return print(task(copy<wst_task>(bytes)));
    case WST_WAIT:
      if (const auto w = copy<wst_wait>(bytes); !(w.flags & WST_WAIT_RUNNING)) print(wait(w));
      return;
    case WST_FILE:
      return print(file(bytes));
    case WST_END:
      return print(end(copy<wst_end>(bytes)));
    case WST_API:
      return print(api(copy<wst_api>(bytes)));
    case WST_POLLSET:
      return print(pollset(copy<wst_pollset>(bytes)));
    case WST_LOSS: {
      const auto loss = copy<wst_loss>(bytes);
      return print({{"record", "loss"},
                    {"class", loss.loss_class},
                    {"count", loss.count},
                    {"first_ns", loss.first_ns},
                    {"last_ns", loss.last_ns}});
    }
    case WST_SUMS: {
      const auto head = copy<wst_sums>(bytes);
      bytes = bytes.subspan(sizeof head);
      for (__u32 i = 0; i < head.count && bytes.size() >= sizeof(wst_sum); i++) {
        print(sum(head, copy<wst_sum>(bytes)));
        bytes = bytes.subspan(sizeof(wst_sum));
      }
      return;
    }
    default:
      return;
  }
}

void show_meta(Bytes bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const json meta = json::parse(text, text + bytes.size(), nullptr, false);
  if (meta.is_object() && meta.contains("api_symbols"))
    print({{"record", "symbols"},
           {"names", meta["api_symbols"]},
           {"complete", meta.value("api_complete", true)}});
  if (meta.is_object() && meta.contains("cost"))
    print({{"record", "costs"}, {"costs", meta["cost"]}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto reader = whystall::recording::Reader::open(argv[1]);
  if (!reader) {
    std::fprintf(stderr, "%s\n", reader.error().text.c_str());
    return 5;
  }
  while (auto chunk = reader->next()) {
    if (chunk->chunk_class == whystall::recording::ChunkClass::kMeta) show_meta(chunk->bytes);
    if (chunk->chunk_class == whystall::recording::ChunkClass::kEvents)
      whystall::recording::for_each_record(chunk->bytes, show);
  }
  return 0;
}
