// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "advice/advice.h"
#include "base/time.h"
#include "output/layout.h"
#include "output/output.h"
#include "output/paint.h"
#include "output/words.h"

namespace whystall::output {

namespace {

using model::Diagnosis;
using model::Finding;
using model::TimeNs;

/// Since the beginning of the recording, to the microsecond.
std::string offset(const Diagnosis& d, TimeNs at) {
  return format("%.6f s", static_cast<double>(at - d.meta.start_ns) / 1e9);
}

std::string heading(const Diagnosis& d, const Finding& f, const TextStyle& style) {
  const auto ranked = d.ranked();
  const auto place = std::find(ranked.begin(), ranked.end(), &f);
  std::string rank = "Beside the ranking: ";
  if (place != ranked.end())
    rank = format("Cause %zu of %zu: ", static_cast<std::size_t>(place - ranked.begin()) + 1,
                  ranked.size());
  const std::string name(cause_name(f.cause));
  std::string text = rank + name + "   " + seconds(f.ns);
  if (f.cause != model::Cause::kWaitIdle)
    text += ", " + percent(f.ns, d.stalled_ns()) + " of the stalled time";
  return Paint{style.color}.bold(text) + "\n";
}

std::string confidence(const Finding& f) {
  std::string text;
  for (std::size_t i = 0; i < f.by_confidence.size(); i++) {
    if (f.by_confidence[i] == 0) continue;
    text += (text.empty() ? "" : ", ") +
            std::string(confidence_name(static_cast<model::Confidence>(i))) + " " +
            seconds(f.by_confidence[i]);
  }
  return "How sure: " + text + "\n";
}

/// What the gaps themselves say, where the time is not charged by that alone.
std::string lineage(const Diagnosis& d, const Finding& f, const TextStyle& style) {
  if (f.lineage_ns == 0) return "";
  DurationNs in_gaps = 0;
  for (const Finding& path : d.path_findings) {
    if (path.cause == f.cause && path.object == f.object) in_gaps += path.ns;
  }
  return wrap_text("By lineage: " + seconds(f.lineage_ns) +
                       ". That was waited for a thread that works ahead, and is charged to what it "
                       "did since its last delivery, which made it late; " +
                       (in_gaps > 0 ? "by the gaps alone it would be " + seconds(in_gaps)
                                    : std::string("the gaps alone do not show it")) +
                       ".",
                   style.columns, 0);
}

/// Other findings of the same cause, which its name alone would not find.
std::string alike(const Diagnosis& d, const Finding& f) {
  const auto ranked = d.ranked();
  std::string others;
  for (std::size_t i = 0; i < ranked.size(); i++) {
    if (ranked[i] != &f && ranked[i]->cause == f.cause)
      others += (others.empty() ? "" : ", ") + std::to_string(i + 1);
  }
  return others.empty() ? "" : wrap_text("Of the same cause: " + others, 80, 2);
}

std::string objects(const Finding& f, const TextStyle& style) {
  std::string text = f.objects.size() == 1
                         ? "\nObject:\n"
                         : format("\n%zu objects, most time first:\n", f.objects.size());
  for (const auto& o : f.objects)
    text += "  " + pad(seconds(o.ns), 9) + fit(printable(o.name), style.columns - 11) + "\n";
  return text;
}

std::string code(const Finding& f, const TextStyle& style) {
  if (f.code.empty()) return "";
  constexpr std::size_t kShown = 10;
  std::uint64_t rest = 0;
  std::string text = "\nWhere it computed, by samples:\n";
  for (std::size_t i = 0; i < f.code.size(); i++) {
    if (i >= kShown) {
      rest += f.code[i].samples;
      continue;
    }
    text += "  " + pad(std::to_string(f.code[i].samples), 9) +
            fit(printable(f.code[i].name), style.columns - 11) + "\n";
  }
  if (rest > 0) text += "  " + pad(std::to_string(rest), 9) + "elsewhere\n";
  return text;
}

std::string hop_line(const Diagnosis& d, const model::ChainHop& hop, bool held,
                     const TextStyle& style) {
  std::string did = printable(hop.call);
  if (hop.lock != 0) did = format("lock 0x%llx", static_cast<unsigned long long>(hop.lock));
  if (did.empty()) did = "on the CPU, or ready to run";
  return "     " + pad(offset(d, hop.at.lo), 14) + pad(seconds(hop.at.length()), 9) +
         fit((held ? "held by " : "") + printable(hop.thread) + ": " + did, style.columns - 28) +
         "\n";
}

std::string gap_text(const Diagnosis& d, const model::GapEvidence& e, std::size_t number,
                     const TextStyle& style) {
  const TimeNs wall = later(d.meta.wall_start_ns, std::max<TimeNs>(0, e.gap.lo - d.meta.start_ns));
  std::string text = format("  %zu. at ", number) + offset(d, e.gap.lo) + " (" +
                     format_wall_time(wall) + "), " + seconds(e.gap.length()) + " long\n     " +
                     seconds(e.ns) + " of it in " +
                     format(e.pieces == 1 ? "%llu piece" : "%llu pieces",
                            static_cast<unsigned long long>(e.pieces)) +
                     ", the longest " + seconds(e.longest.length()) +
                     (e.lineage ? ", by lineage:\n" : " at " + offset(d, e.longest.lo) + ":\n");
  bool held = false;
  for (const model::ChainHop& hop : e.chain) {
    text += hop_line(d, hop, held, style);
    held = hop.lock != 0;
  }
  return text;
}

std::string evidence(const Diagnosis& d, const Finding& f, const TextStyle& style) {
  if (f.evidence.empty()) return "";
  std::string text =
      f.evidence.size() == 1
          ? "\nThe gap with it (times since the recording's start):\n"
          : format("\nThe %zu gaps with most of it (times since the recording's start):\n",
                   f.evidence.size());
  for (std::size_t i = 0; i < f.evidence.size(); i++)
    text += gap_text(d, f.evidence[i], i + 1, style);
  return text;
}

}  // namespace

const Finding* find_cause(const Diagnosis& d, std::string_view wanted) {
  const auto ranked = d.ranked();
  std::size_t rank = 0;
  const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), rank);
  if (error == std::errc{} && end == wanted.data() + wanted.size())
    return rank >= 1 && rank <= ranked.size() ? ranked[rank - 1] : nullptr;
  const auto named = std::find_if(d.findings.begin(), d.findings.end(),
                                  [&](const Finding& f) { return cause_name(f.cause) == wanted; });
  return named == d.findings.end() ? nullptr : &*named;
}

std::string render_cause_text(const Diagnosis& d, const Finding& f, const TextStyle& style) {
  std::string text = heading(d, f, style);
  text += wrap_text(advice::meaning(f.cause), style.columns, 0);
  text += wrap_text(printable(f.object), style.columns, 2);
  text += wrap_text(
      how_often(f, d.meta, 1000) + ", in " +
          format(f.gaps == 1 ? "%llu gap" : "%llu gaps", static_cast<unsigned long long>(f.gaps)),
      style.columns, 2);
  text += confidence(f) + lineage(d, f, style) + alike(d, f) + objects(f, style) + code(f, style) +
          evidence(d, f, style);
  if (const auto step = advice::next_step(d, f))
    text += "\n" + wrap_text("Next: " + step->sentence, style.columns, 0);
  return text;
}

}  // namespace whystall::output
