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
};
constexpr Detail kDetails[] = {{4, 2, 2}, {4, 2, 1}, {3, 2, 1}, {3, 2, 0}, {2, 1, 0}, {1, 1, 0}};

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

std::string coverage(const Diagnosis& d) {
  const DurationNs likely = d.starved_ns - d.starved_proven_ns;
  std::string sure = "proven";
  if (likely > 0) sure = d.starved_proven_ns == 0 ? "likely" : seconds(likely) + " of it likely";
  const std::string whose = d.contexts == 1 ? "this process only"
                                            : format("sum of %llu processes",
                                                     static_cast<unsigned long long>(d.contexts));
  std::string text = "Device, " + whose + ": starved " + percent(d.starved_ns, d.observed_ns()) +
                     " (" + seconds(d.starved_ns) + ", " + sure + ")\n";
  text += "  had work or not known " + percent(d.unproven_ns, d.observed_ns());
  if (d.micro_gap_ns > 0) text += "   gaps under 20 µs " + percent(d.micro_gap_ns, d.observed_ns());
  return text + "\n";
}

/// What there is to say when no stall was proved.
std::string nothing_proved(const Diagnosis& d) {
  if (d.submits == 0 && d.syncs == 0) return "No call to the device was seen in this time.\n";
  if (d.syncs == 0) {
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
    const std::string cause = pad(cause_name(f.cause), 15);
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
    else
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

std::string warnings(const Diagnosis& d) {
  std::string text;
  if (d.lost_records > 0)
    text += format(d.lost_records == 1
                       ? "1 record was lost: times are lower bounds where it lies.\n"
                       : "%llu records were lost: times are lower bounds where they lie.\n",
                   static_cast<unsigned long long>(d.lost_records));
  if (!d.meta.api_complete)
    text += "Not every driver call could be probed on this kernel: 'starved' may be too high.\n";
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
  const std::string head = paint.bold(heading(d, style.columns));
  if (d.stalled_ns() == 0) return head + nothing_proved(d) + warnings(d);
  std::string text;
  for (const Detail& detail : kDetails) {
    text = head + coverage(d) + percent(d.explained_ns(), d.stalled_ns()) +
           " of the stall explained.\n\n" + table(d, style, paint, detail) +
           "\nShares are of the " + seconds(d.stalled_ns()) + " idle by the driver's calls";
    if (d.unproven_ns * 10 > d.observed_ns()) {
      text += "; the other " + seconds(d.unproven_ns) + "\nmay hide more";
    }
    text += ".\n" + warnings(d);
    if (std::count(text.begin(), text.end(), '\n') <= kLines) break;
  }
  return text;
}

}  // namespace whystall::output
