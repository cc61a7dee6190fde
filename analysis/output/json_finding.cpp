// SPDX-License-Identifier: Apache-2.0
#include "output/json_finding.h"

#include <algorithm>
#include <utility>

#include "advice/advice.h"
#include "base/text.h"
#include "base/time.h"
#include "output/output.h"

namespace whystall::output {

using model::Diagnosis;
using model::Finding;
using nlohmann::ordered_json;

double share(model::DurationNs part, model::DurationNs whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

namespace {

std::string hex(std::uint64_t value) {
  return format("0x%llx", static_cast<unsigned long long>(value));
}

std::string device_text(std::uint32_t dev) {
  return std::to_string(dev >> 20) + ":" + std::to_string(dev & 0xfffff);
}

ordered_json object_json(const model::FindingObject& o) {
  ordered_json j = {{"kind", o.kind}, {"name", printable(o.name)}, {"ns", o.ns}};
  if (o.kind == "file") {
    j["path"] = printable(o.name);
    j["inode"] = o.id.file.ino;
    j["device"] = device_text(o.id.file.dev);
  } else if (o.kind == "lock") {
    j["address"] = hex(o.id.address);
    j["holder_tid"] = o.id.tid;
    j["holder_comm"] = printable(o.comm);
    j["holder_did"] = o.id.slept ? "slept" : "computed";
  } else if (o.kind == "pipe" || o.kind == "socket") {
    j["inode"] = o.id.ino;
    if (o.id.pid) j["pid"] = o.id.pid;
    if (o.id.pid) j["comm"] = printable(o.comm);
  } else if (o.kind == "process") {
    j["pid"] = o.id.pid;
    j["comm"] = printable(o.comm);
  } else if (o.kind == "stop") {
    j["tid"] = o.id.tid;
    j["comm"] = printable(o.comm);
    j["let_go_on_by_pid"] = o.id.pid;
  } else if (o.kind == "call") {
    j["call"] = printable(o.name.substr(0, o.name.find(' ')));
    j["tid"] = o.id.tid;
    j["pid"] = o.id.pid;
    j["comm"] = printable(o.comm);
  } else if (o.kind == "thread") {
    j["tid"] = o.id.tid;
    j["pid"] = o.id.pid;
    j["comm"] = printable(o.comm);
  }
  return j;
}

/// With the time since the recording's start, which the screen shows.
ordered_json interval_json(const Diagnosis& d, const model::Interval& at) {
  return {{"start_ns", at.lo},
          {"end_ns", at.hi},
          {"after_ns", at.lo - d.meta.start_ns},
          {"length_ns", at.length()}};
}

ordered_json evidence_json(const Diagnosis& d, const model::GapEvidence& e) {
  ordered_json chain = ordered_json::array();
  for (const model::ChainHop& hop : e.chain) {
    ordered_json call, lock;
    if (!hop.call.empty()) call = printable(hop.call);
    if (hop.lock) lock = hex(hop.lock);
    chain.push_back({{"tid", hop.tid},
                     {"thread", printable(hop.thread)},
                     {"call", call},
                     {"lock", lock},
                     {"at", interval_json(d, hop.at)}});
  }
  const auto wall =
      later(d.meta.wall_start_ns, std::max<model::TimeNs>(0, e.gap.lo - d.meta.start_ns));
  return {{"gap", interval_json(d, e.gap)},
          {"wall_start", format_wall_time(wall)},
          {"pid", e.pid},
          {"ns", e.ns},
          {"pieces", e.pieces},
          {"longest", interval_json(d, e.longest)},
          {"lineage", e.lineage},
          {"chain", chain}};
}

ordered_json recurrence_json(const Diagnosis& d, const model::Recurrence& r) {
  using Kind = model::Recurrence::Kind;
  if (r.kind == Kind::kNone) return nullptr;
  const char* kind = r.kind == Kind::kOnce      ? "once"
                     : r.kind == Kind::kAtStart ? "at start"
                     : r.kind == Kind::kEachGap ? "each gap"
                                                : "every";
  ordered_json gaps, ns;
  if (r.gaps) gaps = r.gaps;
  if (r.ns) ns = r.ns;
  return {{"kind", kind},
          {"occurrences", r.occurrences},
          {"every_gaps", gaps},
          {"every_ns", ns},
          {"first_after_ns", r.first_ns - d.meta.start_ns},
          {"last_after_ns", r.last_ns - d.meta.start_ns}};
}

ordered_json finding_json(const Diagnosis& d, const Finding& f, std::size_t rank,
                          model::DurationNs whole) {
  ordered_json by_confidence;
  for (std::size_t i = 0; i < f.by_confidence.size(); i++) {
    by_confidence[std::string(confidence_name(static_cast<model::Confidence>(i)))] =
        f.by_confidence[i];
  }
  ordered_json objects = ordered_json::array(), evidence = ordered_json::array();
  for (const auto& o : f.objects) objects.push_back(object_json(o));
  for (const auto& e : f.evidence) evidence.push_back(evidence_json(d, e));
  ordered_json code = ordered_json::array();
  for (const auto& c : f.code)
    code.push_back({{"name", printable(c.name)}, {"samples", c.samples}});
  ordered_json place, next, part;
  if (f.cause != model::Cause::kWaitIdle) part = share(f.ns, whole);
  if (rank) {
    place = rank;
    if (const auto step = advice::next_step(d, f))
      next = {{"brief", step->brief}, {"sentence", step->sentence}};
  }
  return {{"cause", cause_name(f.cause)},
          {"rank", place},
          {"ns", f.ns},
          {"share", part},
          {"confidence", confidence_name(f.confidence)},
          {"confidence_ns", by_confidence},
          {"lineage_ns", f.lineage_ns},
          {"gaps", f.gaps},
          {"pieces", f.pieces},
          {"mean_ns", f.mean_ns()},
          {"object", printable(f.object)},
          {"path", printable(f.path)},
          {"meaning", advice::meaning(f.cause)},
          {"next", next},
          {"recurrence", recurrence_json(d, f.recurrence)},
          {"evidence", evidence},
          {"code", code},
          {"objects", objects}};
}

}  // namespace

ordered_json findings_json(const Diagnosis& d, std::span<const Finding> findings,
                           model::DurationNs whole) {
  const auto ranked = d.ranked();
  const bool own = findings.data() == d.findings.data();
  model::DurationNs later_ns = 0;
  for (const Finding* f : ranked) later_ns += f->ns;
  std::size_t rank = 0;
  ordered_json all = ordered_json::array();
  for (const Finding& f : findings) {
    const bool has_rank = own && rank < ranked.size() && ranked[rank] == &f;
    if (has_rank) {
      rank++;
      later_ns -= f.ns;
    }
    ordered_json j = finding_json(d, f, has_rank ? rank : 0, whole);
    // What the screen may put into one line: all that have a rank and come later.
    j["smaller"] =
        has_rank ? ordered_json{{"ns", later_ns}, {"count", ranked.size() - rank}} : ordered_json();
    all.push_back(std::move(j));
  }
  return all;
}

}  // namespace whystall::output
