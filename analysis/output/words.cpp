// SPDX-License-Identifier: Apache-2.0
#include "output/words.h"

#include <algorithm>

#include "output/layout.h"
#include "output/output.h"

namespace whystall::output {

using model::Cause;
using model::Recurrence;
using model::Suspect;

namespace {

/// What one piece of it is, after its number: "4 waits in read".
const char* piece_words(Cause cause) {
  switch (cause) {
    case Cause::kStorageRead:
      return "waits in read";
    case Cause::kStorageFault:
      return "page faults that read a mapped file";
    case Cause::kStorageMetadata:
      return "waits in open, stat or readdir";
    case Cause::kStorageWrite:
      return "waits in write or fsync";
    case Cause::kMemoryFault:
      return "page faults";
    case Cause::kCpuContention:
      return "times on the same CPU";
    case Cause::kCpuOversubscription:
      return "times own threads had the CPU";
    case Cause::kCpuThrottled:
      return "times over the CPU limit";
    case Cause::kCpuStopped:
      return "stops";
    case Cause::kCpuWakeup:
      return "slow wake-ups on an idle CPU";
    case Cause::kCpuWaiting:
      return "times ready to run";
    case Cause::kCpuBusy:
      return "times computing";
    case Cause::kLockUser:
    case Cause::kLockGil:
    case Cause::kLockKernel:
      return "waits for it";
    case Cause::kIpcWorker:
      return "waits for that process";
    case Cause::kIpcPipe:
      return "waits for the pipe";
    case Cause::kIpcChild:
      return "waits for the child process";
    case Cause::kNetRemote:
      return "waits for the peer";
    case Cause::kWaitSleep:
      return "sleeps";
    case Cause::kWaitPolling:
      return "times polling without work";
    case Cause::kGpuLaunch:
      return "gaps between launches";
    case Cause::kGpuSync:
      return "waits for the device";
    case Cause::kGpuTransfer:
      return "times in a copy";
    case Cause::kGpuAlloc:
      return "times in an allocation or a free";
    case Cause::kGpuDriver:
      return "times in the driver's ioctl";
    case Cause::kWaitIdle:
    case Cause::kObserver:
    case Cause::kUnknown:
      break;
  }
  return "times";
}

/// As many of them as a line has room for beside their reason.
std::string shortened(const std::vector<std::string>& words, const std::string& reason,
                      int columns) {
  std::string text;
  for (std::size_t named = words.size(); named > 0; named--) {
    text.clear();
    for (std::size_t i = 0; i < named; i++) text += (i ? ", " : "") + words[i];
    if (named < words.size()) text += format(" and %zu more", words.size() - named);
    text += " (" + reason + ")";
    if (width(text) <= columns) break;
  }
  return printable(text);
}

/// One entry for those that share a reason: "swap, memory reclaim (not watched)".
std::vector<std::string> by_reason(const std::vector<Suspect>& suspects, int columns) {
  std::vector<std::string> reasons;
  std::vector<std::vector<std::string>> groups;
  for (const Suspect& s : suspects) {
    if (s.verdict != Suspect::Verdict::kNotChecked) continue;
    const auto known = std::find(reasons.begin(), reasons.end(), s.why);
    if (known == reasons.end()) {
      reasons.push_back(s.why);
      groups.push_back({s.words});
    } else {
      groups[static_cast<std::size_t>(known - reasons.begin())].push_back(s.words);
    }
  }
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < groups.size(); i++)
    entries.push_back(shortened(groups[i], printable(reasons[i]), columns));
  return entries;
}

}  // namespace

std::string recurrence_words(const Recurrence& r, const model::Meta& meta) {
  switch (r.kind) {
    case Recurrence::Kind::kNone:
      return "";
    case Recurrence::Kind::kOnce:
      return "once";
    case Recurrence::Kind::kAtStart:
      return r.occurrences == 1 ? "once, at the start"
                                : "only in the first " + seconds(r.last_ns - meta.start_ns);
    case Recurrence::Kind::kEachGap:
      return "in nearly every gap";
    case Recurrence::Kind::kEvery:
      if (r.gaps == 0) return "every " + seconds(r.ns);
      return format("every %llu gaps", static_cast<unsigned long long>(r.gaps)) +
             (r.ns > 0 ? " (" + seconds(r.ns) + ")" : "");
  }
  return "";
}

std::string how_often(const model::Finding& f, const model::Meta& meta, int columns) {
  const std::string rule = recurrence_words(f.recurrence, meta);
  const auto with_rule = [&](const std::string& text) {
    return !rule.empty() && width(text) + 2 + width(rule) <= columns ? text + ", " + rule : text;
  };
  if (f.lineage_ns * 2 > f.ns) return with_rule("made work late");
  std::string words = piece_words(f.cause);
  if (f.pieces == 1) {
    // "1 wait in read": the plural is in the first word alone.
    const std::size_t end = std::min(words.find(' '), words.size());
    if (f.cause == Cause::kStorageFault || f.cause == Cause::kMemoryFault)
      words.erase(words.find("faults") + 5, 1);
    else if (f.cause == Cause::kCpuWakeup)
      words.erase(words.find("wake-ups") + 7, 1);
    else
      words.erase(end - 1, 1);
  }
  return with_rule(format("%llu ", static_cast<unsigned long long>(f.pieces)) + words +
                   (f.pieces == 1 ? ", " : ", mean ") + seconds(f.mean_ns()));
}

std::string reasons(const model::Finding& f, int columns) {
  std::vector<std::string> entries;
  for (const auto& o : f.objects) entries.push_back(o.name + " " + seconds(o.ns));
  std::string text = wrap_list("", entries, columns + 1, 1);
  while (text.ends_with('\n') || text.ends_with('.')) text.pop_back();
  return text;
}

std::string suspects_words(const std::vector<Suspect>& suspects, int columns, int lines_each) {
  std::vector<std::string> cleared;
  for (const Suspect& s : suspects) {
    if (s.verdict == Suspect::Verdict::kCleared) cleared.push_back(printable(s.words));
  }
  // Beside the label, and in one line beside the number of what has no room.
  const int room = columns - (lines_each == 1 ? 27 : 14);
  return wrap_list("Not the cause: ", cleared, columns, lines_each) +
         wrap_list("Not checked: ", by_reason(suspects, room), columns, lines_each);
}

}  // namespace whystall::output
