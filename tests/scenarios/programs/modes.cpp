// SPDX-License-Identifier: Apache-2.0
#include "modes.h"

#include <algorithm>
#include <vector>

#include "die.h"
#include "vias.h"
#include "works.h"

namespace loop {
namespace {

struct WorkMode {
  const char* name;
  const char* text;
  std::unique_ptr<Work> (*make)(const Part& part);
  bool with_files = false;
};

constexpr WorkMode kWorks[] = {
    {"none", "nothing", make_none},
    {"cpu", "computes for --host-ms of its CPU time", make_cpu},
    {"sleep", "sleeps for --host-ms", make_sleep},
    {"backoff", "sleeps for --host-ms, a little longer each time", make_backoff},
    {"bursts", "computes for --host-ms and rests half as long again, without an end", make_bursts},
    {"read", "reads a cold file of --dir", make_read, true},
    {"write", "writes a file of --dir", make_write, true},
    {"fsync", "writes a file of --dir and waits until it is stored", make_fsync, true},
    {"open", "opens a file of --dir", make_open, true},
    {"stat", "asks for the attributes of a file of --dir", make_stat, true},
    {"stop", "is stopped by another process for --host-ms", make_stop},
    {"stuck", "blocks for ever in a write to a full pipe, once steady", make_stuck},
    {"serve", "waits for a client that asks --host-ms after each answer", make_serve},
};

Bells bells(Means there, Means back) {
  return {make_bell(there), make_bell(back)};
}
Bells bells(Means both) {
  return bells(both, both);
}

std::unique_ptr<Work> make_child_process(const Part& inner, bool awaited, Means means) {
  return make_process(inner, bells(means), Kin::kChild, awaited);
}

struct Via {
  const char* name;
  const char* text;
  std::unique_ptr<Work> (*make)(const Part& inner, bool awaited);
};

constexpr Via kVias[] = {
    {"thread", "a thread, by semaphores",
     [](const Part& inner, bool awaited) {
       return make_thread(inner, bells(Means::kSemaphore), awaited);
     }},
    {"queue", "a thread, by condition variables",
     [](const Part& inner, bool awaited) {
       return make_thread(inner, bells(Means::kCondition), awaited);
     }},
    {"spin", "a thread, looking at a word all the time",
     [](const Part& inner, bool awaited) {
       return make_thread(inner, bells(Means::kSemaphore, Means::kSpin), awaited);
     }},
    {"yield", "a thread, looking at a word and giving the CPU away",
     [](const Part& inner, bool awaited) {
       return make_thread(inner, bells(Means::kSemaphore, Means::kYield), awaited);
     }},
    {"worker", "a child process, by pipes",
     [](const Part& inner, bool awaited) {
       return make_child_process(inner, awaited, Means::kPipe);
     }},
    {"eventfd", "a child process, by eventfds",
     [](const Part& inner, bool awaited) {
       return make_child_process(inner, awaited, Means::kEventfd);
     }},
    {"socket", "a child process, by unix sockets",
     [](const Part& inner, bool awaited) {
       return make_child_process(inner, awaited, Means::kSocket);
     }},
    {"futex", "a child process, by futexes in shared memory",
     [](const Part& inner, bool awaited) {
       return make_child_process(inner, awaited, Means::kFutex);
     }},
    {"semaphore", "a child process, by semaphores in shared memory",
     [](const Part& inner, bool awaited) {
       return make_child_process(inner, awaited, Means::kSemaphore);
     }},
    {"signal", "a child process, which answers by a signal",
     [](const Part& inner, bool awaited) {
       return make_process(inner, bells(Means::kPipe, Means::kSignal), Kin::kChild, awaited);
     }},
    {"tcp", "a server that is nobody's child, by TCP",
     [](const Part& inner, bool awaited) {
       return make_process(inner, make_tcp_bells(), Kin::kStranger, awaited);
     }},
    {"lock", "the holder of a mutex",
     [](const Part& inner, bool) { return make_lock(inner, false); }},
    {"contended-lock", "the holder of a mutex for which another thread asks, too",
     [](const Part& inner, bool) { return make_lock(inner, true); }},
    {"pool", "a pool of two threads, both busy with it when the step's own task is queued",
     [](const Part& inner, bool) { return make_pool(inner); }},
    {"loader", "a thread that works ahead and has up to two items ready",
     [](const Part& inner, bool) { return make_loader(inner); }},
    {"child", "a program that is started for it",
     [](const Part& inner, bool) { return make_child(inner); }},
    {"respawn", "a process that is forked for it",
     [](const Part& inner, bool) { return make_respawn(inner); }},
};

template <typename Table>
const auto* find(const Table& table, const std::string& name) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const auto& entry) { return name == entry.name; });
  return found == std::end(table) ? nullptr : &*found;
}

std::vector<std::string> names_of(const std::string& works) {
  std::vector<std::string> names(1);
  for (const char c : works) {
    if (c == '+') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  return names;
}

class Sequence : public Work {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Work>> works) : works_(std::move(works)) {}
  void run() override {
    for (const auto& work : works_) work->run();
  }
  void prepare() override {
    for (const auto& work : works_) work->prepare();
  }
  void tell(Facts& facts) const override {
    for (const auto& work : works_) work->tell(facts);
  }

 private:
  const std::vector<std::unique_ptr<Work>> works_;
};

std::unique_ptr<Work> make_works(const Part& part) {
  std::vector<std::unique_ptr<Work>> works;
  for (const std::string& name : names_of(part.mode)) {
    works.push_back(find(kWorks, name)->make(part));
  }
  if (works.size() == 1) return std::move(works.front());
  return std::make_unique<Sequence>(std::move(works));
}

// The first step of the way, and the part that it leads to.
struct Split {
  std::string via;
  Part inner;
};

Split split(const Part& part) {
  const std::size_t slash = part.mode.find('/');
  Split result{part.mode.substr(0, slash), part};
  result.inner.mode = part.mode.substr(slash + 1);
  return result;
}

bool has_via(const Part& part) {
  return part.mode.find('/') != std::string::npos;
}

}  // namespace

std::unique_ptr<Work> make_work(const Part& part) {
  if (!has_via(part)) return make_works(part);
  Split way = split(part);
  const bool awaited = !way.inner.decoy;
  return find(kVias, way.via)->make(way.inner, awaited);
}

std::string mode_problem(const Part& part) {
  if (has_via(part)) {
    const Split way = split(part);
    if (find(kVias, way.via) == nullptr) return "no way '" + way.via + "'";
    return mode_problem(way.inner);
  }
  bool with_files = false;
  for (const std::string& name : names_of(part.mode)) {
    const WorkMode* work = find(kWorks, name);
    if (work == nullptr) return "no work '" + name + "'";
    with_files = with_files || work->with_files;
  }
  if (with_files != !part.directory.empty()) {
    return "'" + part.mode + "' and --dir do not go together, or need each other";
  }
  return "";
}

std::string describe_modes() {
  std::string text = "WORK:\n";
  auto line = [&](const char* name, const char* about) {
    text +=
        "  " + std::string(name) + std::string(16 - std::string(name).size(), ' ') + about + "\n";
  };
  for (const WorkMode& work : kWorks) line(work.name, work.text);
  text += "VIA, the main thread waits for:\n";
  for (const Via& via : kVias) line(via.name, via.text);
  return text;
}

}  // namespace loop
