// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "output/layout.h"
#include "output/output.h"

namespace whystall::output {

namespace {

using model::Cause;
using model::Diagnosis;
using model::DurationNs;
using model::Finding;

constexpr int kIndent = 18;
/// A screen of 24 lines less the prompt.
constexpr int kLines = 23;

/// How much is told of each finding; the next is tried when the one before does not fit the screen.
struct Detail {
  std::size_t shown;  // findings with lines of their own; the rest share one
  int first_chain;    // lines for the chain of the first
  int other_chains;   // of each other one
  bool notes;         // whether there is room for other views
};
constexpr Detail kDetails[] = {{4, 2, 2, true}, {4, 2, 1, true}, {3, 2, 1, true}, {3, 2, 0, true},
                               {2, 1, 0, true}, {1, 1, 0, true}, {1, 1, 0, false}};
/// Lines that do not grow with the terminal.
constexpr int kNarrow = 80;

struct Paint {
  bool on;
  std::string bold(const std::string& s) const { return on ? "\033[1m" + s + "\033[0m" : s; }
  std::string dim(const std::string& s) const { return on ? "\033[2m" + s + "\033[0m" : s; }
};

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
    const DurationNs watched = std::clamp<DurationNs>(shed.at_ns - d.meta.start_ns, 0, d.window_ns);
    std::string line = cut(printable(shed.source), 20) + " watched " + seconds(watched) + " of " +
                       seconds(d.window_ns) +
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
  return "The device was never proved idle: no stall to explain.\n";
}

std::string detail(const Finding& f) {
  const DurationNs mean = f.pieces ? f.ns / static_cast<DurationNs>(f.pieces) : 0;
  switch (f.cause) {
    case Cause::kStorageRead:
      return format("%llu waits in read, mean ", static_cast<unsigned long long>(f.pieces)) +
             seconds(mean);
    case Cause::kCpuContention:
      return format("%llu times on the same CPU, mean ",
                    static_cast<unsigned long long>(f.pieces)) +
             seconds(mean);
    default:
      return format("%llu times, mean ", static_cast<unsigned long long>(f.pieces)) + seconds(mean);
  }
}

std::string reasons(const Finding& f) {
  std::string text;
  for (const auto& o : f.objects) text += (text.empty() ? "" : ", ") + o.name + " " + seconds(o.ns);
  return text;
}

class Table {
 public:
  Table(const TextStyle& style, Paint paint) : style_(style), paint_(paint) {}

  std::string row(int rank, int share, const Finding& f, int chain_lines) const {
    const std::string left = (rank ? format("%2d", rank) : std::string("  ")) +
                             format("  %3d %%  ", share) + pad(seconds(f.ns), 8) + " ";
    const std::string cause =
        pad(cause_name(f.cause), std::max(15, width(cause_name(f.cause)) + 1));
    const bool known = f.cause != Cause::kUnknown;
    const std::string word = known ? "  " + std::string(confidence_name(f.confidence)) : "";
    const int room = style_.columns - width(left) - width(cause) - width(word);
    const std::string object = known ? printable(f.object) : reasons(f);
    const bool beside = width(object) <= room;
    std::string text = left + paint_.bold(cause) + pad(beside ? object : "", room) + word;
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
    const int columns = style_.columns - kIndent;
    if (!beside) {
      text +=
          std::string(kIndent, ' ') + (known ? fit(object, columns) : cut(object, columns)) + "\n";
    }
    if (!known) return text;
    text += indented(detail(f));
    if (chain_lines == 0) return text;
    for (const std::string& line :
         wrap_chain(printable(f.path), style_.columns - kIndent, chain_lines)) {
      text += indented(line);
    }
    return text;
  }

  std::string rest(int share, DurationNs ns, std::size_t count) const {
    return "    " + format("%3d %%  ", share) + pad(seconds(ns), 8) +
           format(" %zu smaller causes\n", count);
  }

 private:
  std::string indented(const std::string& text) const {
    return std::string(kIndent, ' ') + paint_.dim(fit(text, style_.columns - kIndent)) + "\n";
  }

  TextStyle style_;
  Paint paint_;
};

std::string table(const Diagnosis& d, const TextStyle& style, Paint paint, const Detail& detail) {
  std::vector<const Finding*> known;
  const Finding* unknown = nullptr;
  for (const Finding& f : d.findings) {
    if (f.cause == Cause::kUnknown)
      unknown = &f;
    else if (f.cause != Cause::kWaitIdle)  // nobody waited for that
      known.push_back(&f);
  }
  const std::size_t shown = known.size() <= detail.shown + 1 ? known.size() : detail.shown;
  std::vector<DurationNs> parts;
  for (std::size_t i = 0; i < shown; i++) parts.push_back(known[i]->ns);
  DurationNs rest = 0;
  for (std::size_t i = shown; i < known.size(); i++) rest += known[i]->ns;
  parts.push_back(rest);
  parts.push_back(unknown ? unknown->ns : 0);
  const std::vector<int> shares = whole_percents(parts);

  const Table rows(style, paint);
  std::string text;
  for (std::size_t i = 0; i < shown; i++) {
    const int chain_lines = i == 0 ? detail.first_chain : detail.other_chains;
    text += rows.row(static_cast<int>(i + 1), shares[i], *known[i], chain_lines);
  }
  if (known.size() > shown) text += rows.rest(shares[shown], rest, known.size() - shown);
  if (unknown) text += rows.row(0, shares[shown + 1], *unknown, 0);
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

/// Other views of the same time, and what is worth knowing beside it.
std::string notes(const Diagnosis& d) {
  std::string text;
  if (!d.exposures.empty() && d.exposures.front().ns * 10 > d.stalled_ns()) {
    const model::Exposure& e = d.exposures.front();
    text += format("%s of it came after a return from ", seconds(e.ns).c_str()) +
            printable(e.call) + format(" (%llu times).\n", static_cast<unsigned long long>(e.gaps));
  }
  std::string calls;
  for (std::size_t i = 0; i < d.long_calls.size() && i < 2; i++) {
    const model::LongCalls& l = d.long_calls[i];
    calls += (calls.empty() ? "" : ", ") + printable(l.call) + " " + seconds(l.ns) +
             format(" (%llu)", static_cast<unsigned long long>(l.calls));
  }
  if (!calls.empty()) text += fit("Long driver calls: " + calls + ".", kNarrow) + "\n";
  return text;
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
    if (d.submits + d.syncs + d.queries > 0) text += coverage(d) + beside(d);
    return text + nothing_proved(d) + notes(d) + warnings(d);
  }
  if (d.not_known_ns > d.observed_ns() / 100 * 99) {
    return head + coverage(d) + beside(d) +
           "Too little is known of the device for a ranking of causes" +
           (d.meta.shed.empty() ? ".\n" : ":\na larger --budget, or none, would tell more.\n") +
           notes(d) + warnings(d);
  }
  std::string text;
  for (const Detail& detail : kDetails) {
    text = head + coverage(d) + beside(d) + percent(d.explained_ns(), d.stalled_ns()) +
           " of the stall explained.\n\n" + table(d, style, paint, detail) + "\n" + basis(d) +
           (detail.notes ? notes(d) : "") + warnings(d);
    if (std::count(text.begin(), text.end(), '\n') <= kLines) break;
  }
  return text;
}

}  // namespace whystall::output
