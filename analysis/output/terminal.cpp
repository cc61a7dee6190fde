// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "advice/advice.h"
#include "output/layout.h"
#include "output/output.h"
#include "output/paint.h"
#include "output/table.h"
#include "output/words.h"

namespace whystall::output {

namespace {

using model::Cause;
using model::Diagnosis;
using model::DurationNs;
using model::Finding;

/// A screen of 24 lines less the prompt.
constexpr int kLines = 23;

/// How much is told; the next is tried when the one before does not fit the screen.
struct Detail {
  TableDetail table;
  int notes;     // how many lines of other views
  int suspects;  // lines for each list of suspects
};
constexpr Detail kDetails[] = {{{4, 2, 2}, 3, 2}, {{4, 2, 1}, 3, 2}, {{3, 2, 1}, 2, 2},
                               {{3, 2, 1}, 2, 1}, {{3, 2, 1}, 1, 1}, {{3, 2, 0}, 1, 1},
                               {{2, 2, 0}, 1, 1}, {{2, 1, 0}, 1, 1}, {{1, 1, 0}, 1, 1},
                               {{1, 1, 0}, 0, 1}, {{1, 1, 0}, 0, 0}};
/// Lines that do not grow with the terminal.
constexpr int kNarrow = 80;

/// The command without the directories of its program and script: they take the room of what tells.
std::string short_command(const std::string& command) {
  std::string text;
  int shortened = 0;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find(' ', at), command.size());
    std::string word = command.substr(at, end - at);
    const std::size_t slash = word.rfind('/');
    if (slash != std::string::npos && slash + 1 < word.size() &&
        (at == 0 || (shortened == 1 && word.ends_with(".py")))) {
      word = word.substr(slash + 1);
    }
    if (!word.starts_with('-')) shortened++;
    text += (text.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return text;
}

std::string heading(const Diagnosis& d, int columns) {
  std::string who = "?", pid;
  if (const auto* user = model::device_user(d.meta)) {
    who = printable(user->command.empty() ? user->comm : short_command(user->command));
    pid = "  pid " + std::to_string(user->pid);
    const auto& given = d.meta.targets;
    if (given.size() > 1)
      pid += format(" and %zu more", given.size() - 1);
    else if (!given.empty() && given.front().pid != user->pid)
      pid += " under " + std::to_string(given.front().pid);
  }
  const std::string rest = pid + "   " + seconds(d.window_ns) + "   no GPU clock   lost " +
                           std::to_string(d.lost_records);
  return cut(cut(who, std::max(12, columns - width(rest))) + rest, columns) + "\n";
}

std::string whose(const Diagnosis& d) {
  const std::size_t processes = d.devices.size() == 1 ? d.devices.front().processes.size() : 1;
  if (d.contexts > 1)
    return format("sum of %llu processes", static_cast<unsigned long long>(d.contexts));
  return processes > 1 ? format("%zu processes", processes) : "this process only";
}

/// "0000:c1:00.0" without the domain that most hosts have no other of.
std::string short_bus_id(const std::string& id) {
  const std::size_t zeros = id.find_first_not_of('0');
  return id.starts_with("0000") && zeros != std::string::npos && id[zeros] == ':'
             ? id.substr(zeros + 1)
             : id;
}

std::string coverage(const Diagnosis& d) {
  const DurationNs likely = d.starved_ns - d.starved_proven_ns;
  std::string sure = ", proven";
  if (likely > 0)
    sure = d.starved_proven_ns == 0 ? ", likely" : ", " + seconds(likely) + " of it likely";
  if (d.starved_ns == 0) sure.clear();
  const model::DeviceTime* device = d.the_device();
  const std::string name = device ? "GPU " + printable(short_bus_id(device->pci_bus_id)) : "Device";
  std::string text = name + ", " + whose(d) + ": starved " +
                     percent(d.starved_ns, d.observed_ns()) + " (" + seconds(d.starved_ns) + sure +
                     ")\n";
  text += "  had work " + percent(d.had_work_ns, d.observed_ns()) + "   not known " +
          percent(d.not_known_ns, d.observed_ns());
  if (device && device->nvml_busy) text += format("   NVML busy %.0f %%", *device->nvml_busy * 100);
  if (d.micro_gap_ns > 0) text += "   gaps under 20 µs " + percent(d.micro_gap_ns, d.observed_ns());
  return text + "\n";
}

/// What was given up to keep the budget: it bounds what the rest can say.
std::string given_up(const Diagnosis& d) {
  std::string text;
  for (const model::Shed& shed : d.meta.shed) {
    if (shed.source.rfind("driver", 0) != 0) continue;
    std::string line = cut(printable(shed.source), 20) + " watched " + seconds(d.watched_ns(shed)) +
                       " of " + seconds(d.window_ns) +
                       format(": %.0f a second broke --budget.\n", shed.calls_per_second);
    if (line.front() == 'd') line.front() = 'D';
    text += line;
  }
  return text;
}

/// What is known of the time that is neither proved idle nor proved busy, and of idle time that
/// nobody waited for.
std::string beside(const Diagnosis& d) {
  std::string parts, text;
  if (d.silent_ns > 0) {
    parts = seconds(d.silent_ns) + " no launch";
    if (!d.silence_findings.empty())
      parts += " (" + std::string(cause_name(d.silence_findings.front().cause)) + ")";
  }
  if (d.possibly_starved_ns > 0)
    parts += (parts.empty() ? "" : ", ") + seconds(d.possibly_starved_ns) + " possibly starved";
  if (!parts.empty()) text = "  not known: " + parts + "\n";
  if (d.no_demand_ns > 0)
    text += "  no demand " + percent(d.no_demand_ns, d.observed_ns()) + " (" +
            seconds(d.no_demand_ns) + " of the starved): no request was there\n";
  return text;
}

/// What there is to say when no stall was proved.
std::string nothing_proved(const Diagnosis& d) {
  if (d.submits == 0 && d.syncs == 0) return "No call to the device was seen in this time.\n";
  if (d.syncs + d.queries == 0) {
    return "The program gave the device work, but no wait for it ended in this time, so the\n"
           "driver's calls alone cannot prove that it was ever idle.\n";
  }
  std::string text = "The device was never proved idle: no stall to explain.\n";
  if (!d.host_cleared())
    text += "Whether the host is the cause cannot be told: " +
            percent(d.not_known_ns, d.observed_ns()) + " of the time is not known.\n";
  return text;
}

/// The time that shares are of, and what the rest could change.
std::string basis(const Diagnosis& d) {
  std::string text = "Shares are of the " + seconds(d.stalled_ns()) + " proved idle";
  if (d.not_known_ns * 20 > d.observed_ns()) {
    text += "; the " + seconds(d.not_known_ns) + " not known\n" +
            (d.lead_ns() > d.not_known_ns ? "cannot change place 1" : "may change the order");
  }
  return text + ".\n";
}

/// A lock whose waits went to what its holder did: to its causes, it does not stand in the table.
std::string through_lock(const Diagnosis& d) {
  if (d.through_locks.empty() || d.through_locks.front().ns * 10 < d.stalled_ns()) return "";
  const model::LockTime& lock = d.through_locks.front();
  for (const Finding& f : d.findings) {
    if (is_lock(f.cause) && !f.objects.empty() && f.objects.front().id.address == lock.address &&
        f.ns * 20 >= lock.ns * 19)
      return "";
  }
  return fit(seconds(lock.ns) + " of it came through " + printable(lock.name) +
                 format(lock.pieces == 1 ? " (%llu wait)." : " (%llu waits).",
                        static_cast<unsigned long long>(lock.pieces)),
             kNarrow) +
         "\n";
}

/// Other views of the same time, and what is worth knowing beside it, most telling first.
std::string notes(const Diagnosis& d, int lines) {
  std::vector<std::string> all;
  if (const std::string lock = through_lock(d); !lock.empty()) all.push_back(lock);
  if (!d.exposures.empty() && d.exposures.front().ns * 10 > d.stalled_ns()) {
    const model::Exposure& e = d.exposures.front();
    all.push_back(cut(format("%s of it came after a return from ", seconds(e.ns).c_str()) +
                          printable(e.call) +
                          format(e.gaps == 1 ? " (once)." : " (%llu times).",
                                 static_cast<unsigned long long>(e.gaps)),
                      kNarrow) +
                  "\n");
  }
  std::string calls;
  for (std::size_t i = 0; i < d.long_calls.size() && i < 2; i++) {
    const model::LongCalls& l = d.long_calls[i];
    calls += (calls.empty() ? "" : ", ") + printable(l.call) + " " + seconds(l.ns) +
             format(" (%llu)", static_cast<unsigned long long>(l.calls));
  }
  if (!calls.empty()) all.push_back(fit("Long driver calls: " + calls + ".", kNarrow) + "\n");
  std::string text;
  for (std::size_t i = 0; i < all.size() && static_cast<int>(i) < lines; i++) text += all[i];
  return text;
}

/// What to check first, of the dearest finding that anything can be said of.
std::string next_line(const Diagnosis& d) {
  if (d.host_cleared()) return "";
  const auto ranked = d.ranked();
  for (std::size_t i = 0; i < ranked.size(); i++) {
    if (const auto step = advice::next_step(d, *ranked[i]))
      return "Next: " + step->brief + format("; whystall report --cause %zu\n", i + 1);
  }
  return "";
}

/// How far the answer goes: what is explained, or that there is nothing to explain.
std::string verdict(const Diagnosis& d) {
  if (!d.host_cleared()) {
    if (d.stalled_ns() == 0) return "";
    const std::string by_lineage =
        d.lineage_ns > 0 ? "; " + seconds(d.lineage_ns) + " of it by lineage: what made it late"
                         : "";
    return percent(d.explained_ns(), d.stalled_ns()) + " of the stall explained" + by_lineage +
           ".\n";
  }
  std::string text = "The host is not the cause: ";
  if (d.no_demand_ns * 10 > d.observed_ns())
    text += "no request was there for " + percent(d.no_demand_ns, d.observed_ns()) +
            " of the time,\nand the device had work for " +
            percent(d.had_work_ns, d.observed_ns()) + " of it.\n";
  else
    text +=
        "the device had work for " + percent(d.had_work_ns, d.observed_ns()) + " of the time.\n";
  return text + "At most " + percent(d.host_at_most_ns(), d.observed_ns()) +
         " of the time can be the host's fault.\n";
}

std::string warnings(const Diagnosis& d) {
  std::string text;
  if (d.lost_records > 0)
    text += format(d.lost_records == 1
                       ? "1 record was lost: times are lower bounds where it lies.\n"
                       : "%llu records were lost: times are lower bounds where they lie.\n",
                   static_cast<unsigned long long>(d.lost_records));
  if (!d.meta.api_complete)
    text += "Not every driver call could be probed on this kernel: 'starved' may be too high.\n";
  if (const model::DeviceTime* device = d.the_device()) {
    // What a copy keeps busy does not count there, so less is no contradiction.
    constexpr double kSlack = 0.05;
    const double starved = static_cast<double>(d.starved_ns) / static_cast<double>(d.observed_ns());
    if (device->nvml_busy && *device->nvml_busy > 1 - starved + kSlack)
      text += "By its own counters the GPU was busier than that: somebody else uses it.\n";
    if (!device->others.empty())
      text +=
          format("Also on this GPU, not watched: pid %u", device->others.front()) +
          (device->others.size() > 1 ? format(" and %zu more", device->others.size() - 1) : "") +
          ".\n";
  }
  if (d.load.no_end || d.load.cut)
    text += "The recording was cut short: this is the report of what is there.\n";
  if (d.load.damaged_chunks + d.load.bad_records > 0)
    text += format("%llu parts of the recording are damaged and were left out.\n",
                   static_cast<unsigned long long>(d.load.damaged_chunks + d.load.bad_records));
  if (d.conservation_error_ns != 0)
    text += format("Internal error: the causes miss %lld ns of the stall.\n",
                   static_cast<long long>(d.conservation_error_ns));
  return text;
}

}  // namespace

std::string render_text(const Diagnosis& d, const TextStyle& style) {
  const Paint paint{style.color};
  const std::string head = paint.bold(heading(d, style.columns)) + given_up(d);
  if (d.stalled_ns() == 0) {
    std::string text = head;
    if (d.submits + d.syncs + d.queries > 0) text += coverage(d) + beside(d) + verdict(d);
    return text + (d.no_demand_ns > 0 ? "" : nothing_proved(d)) + notes(d, 3) + warnings(d);
  }
  if (d.not_known_ns > d.observed_ns() / 100 * 99) {
    return head + coverage(d) + beside(d) +
           "Too little is known of the device for a ranking of causes" +
           (d.meta.shed.empty() ? ".\n" : ":\na larger --budget, or none, would tell more.\n") +
           notes(d, 3) + warnings(d);
  }
  std::string text;
  for (const Detail& detail : kDetails) {
    text = head + coverage(d) + beside(d) + verdict(d) + "\n" +
           findings_table(d, style, detail.table) + "\n" + basis(d) + notes(d, detail.notes) +
           suspects_words(d.suspects, kNarrow, detail.suspects) + next_line(d) + warnings(d);
    if (std::count(text.begin(), text.end(), '\n') <= kLines) break;
  }
  return text;
}

}  // namespace whystall::output
