// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/time.h"
#include "output/json_finding.h"
#include "output/output.h"

namespace whystall::output {

namespace {

using nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

double per_second(std::uint64_t count, model::DurationNs in) {
  return in > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(in) : 0;
}

std::string dump(const ordered_json& j) {
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json suspects_json(const model::Diagnosis& d) {
  using Verdict = model::Suspect::Verdict;
  ordered_json all = ordered_json::array();
  for (const model::Suspect& s : d.suspects) {
    const char* verdict = s.verdict == Verdict::kCleared ? "not the cause"
                          : s.verdict == Verdict::kFound ? "found"
                                                         : "not checked";
    ordered_json why;
    if (!s.why.empty()) why = printable(s.why);
    all.push_back({{"name", s.name},
                   {"words", printable(s.words)},
                   {"verdict", verdict},
                   {"ns", s.ns},
                   {"why", why}});
  }
  return all;
}

ordered_json locks_json(const model::Diagnosis& d) {
  ordered_json all = ordered_json::array();
  for (const model::LockTime& l : d.through_locks)
    all.push_back({{"address", format("0x%llx", static_cast<unsigned long long>(l.address))},
                   {"holder_tid", l.holder},
                   {"name", printable(l.name)},
                   {"ns", l.ns},
                   {"pieces", l.pieces}});
  return all;
}

ordered_json sources_json(const model::Meta& m) {
  ordered_json all = ordered_json::array();
  for (const model::Source& s : m.sources)
    all.push_back({{"name", printable(s.name)},
                   {"state", printable(s.state)},
                   {"why", printable(s.why)},
                   {"tested", s.tested},
                   {"from_ns", s.from_ns},
                   {"until_ns", s.until_ns}});
  return all;
}

ordered_json path_json(const model::Diagnosis& d) {
  ordered_json all = ordered_json::array();
  for (const model::Finding& f : d.path_findings) {
    all.push_back({{"cause", cause_name(f.cause)},
                   {"object", printable(f.object)},
                   {"ns", f.ns},
                   {"confidence", confidence_name(f.confidence)}});
  }
  return all;
}

}  // namespace

std::string render_json(const model::Diagnosis& d) {
  const model::Meta& m = d.meta;
  auto process_json = [](const model::TargetProcess& process) {
    return ordered_json{{"pid", process.pid},
                        {"comm", printable(process.comm)},
                        {"command", printable(process.command)}};
  };
  ordered_json target, given = ordered_json::array();
  if (const auto* user = model::device_user(m)) target = process_json(*user);
  for (const auto& process : m.targets) given.push_back(process_json(process));
  ordered_json cost;
  if (m.cost_cpu_share >= 0) cost = m.cost_cpu_share;
  ordered_json devices = ordered_json::array(), exposures = ordered_json::array(),
               long_calls = ordered_json::array(), shed = ordered_json::array();
  for (const auto& device : d.devices) {
    ordered_json processes = ordered_json::array();
    for (const auto& process : device.processes) processes.push_back(process_json(process));
    ordered_json index, busy, others = device.others;
    if (device.index >= 0) index = device.index;
    if (device.nvml_busy) busy = *device.nvml_busy;
    devices.push_back({{"index", index},
                       {"pci_bus_id", printable(device.pci_bus_id)},
                       {"uuid", printable(device.uuid)},
                       {"name", printable(device.name)},
                       {"nvml_busy", busy},
                       {"other_pids", others},
                       {"processes", processes},
                       {"starved_ns", device.starved_ns},
                       {"had_work_ns", device.had_work_ns},
                       {"not_known_ns", device.not_known_ns}});
  }
  for (const auto& e : d.exposures)
    exposures.push_back({{"call", printable(e.call)}, {"ns", e.ns}, {"gaps", e.gaps}});
  for (const auto& l : d.long_calls) {
    long_calls.push_back({{"call", printable(l.call)},
                          {"kind", l.copies ? "copy" : "memory"},
                          {"calls", l.calls},
                          {"bytes", l.bytes},
                          {"ns", l.ns},
                          {"longest_ns", l.longest_ns}});
  }
  for (const auto& s : m.shed) {
    shed.push_back({{"source", printable(s.source)},
                    {"at_ns", s.at_ns},
                    {"watched_ns", d.watched_ns(s)},
                    {"cpu_share", s.cpu_share},
                    {"calls_per_second", s.calls_per_second}});
  }
  const ordered_json j = {{"schema_version", kSchemaVersion},
                          {"whystall", printable(m.whystall)},
                          {"window",
                           {{"start_ns", m.start_ns},
                            {"end_ns", m.end_ns},
                            {"wall_start", format_wall_time(m.wall_start_ns)},
                            {"length_ns", d.window_ns},
                            {"stopped_by", printable(m.stopped_by)}}},
                          {"host", {{"name", printable(m.host)}, {"kernel", printable(m.kernel)}}},
                          {"target", target},
                          {"given", given},
                          {"cost_cpu_share", cost},
                          {"profile", printable(m.profile)},
                          {"clock", printable(m.clock)},
                          {"driver_library", printable(m.driver_library)},
                          {"contexts", d.contexts},
                          {"observed_ns", d.observed_ns()},
                          {"starved_ns", d.starved_ns},
                          {"starved_proven_ns", d.starved_proven_ns},
                          {"micro_gap_ns", d.micro_gap_ns},
                          {"had_work_ns", d.had_work_ns},
                          {"not_known_ns", d.not_known_ns},
                          {"no_demand_ns", d.no_demand_ns},
                          {"possibly_starved_ns", d.possibly_starved_ns},
                          {"silent_ns", d.silent_ns},
                          {"stalled_ns", d.stalled_ns()},
                          {"explained_ns", d.explained_ns()},
                          {"lead_ns", d.lead_ns()},
                          {"host_cleared", d.host_cleared()},
                          {"host_at_most_ns", d.host_at_most_ns()},
                          {"devices", devices},
                          {"gaps", d.gaps},
                          {"micro_gaps", d.micro_gaps},
                          {"submits", d.submits},
                          {"syncs", d.syncs},
                          {"queries", d.queries},
                          {"launches_per_second", per_second(d.submits, d.window_ns)},
                          {"lost_records", d.lost_records},
                          {"storage_misses", d.storage_misses},
                          {"api_complete", m.api_complete},
                          {"recording",
                           {{"records", d.load.records},
                            {"unknown_records", d.load.unknown_records},
                            {"bad_records", d.load.bad_records},
                            {"unknown_chunks", d.load.unknown_chunks},
                            {"damaged_chunks", d.load.damaged_chunks},
                            {"cut", d.load.cut},
                            {"dropped_ns", d.load.dropped_ns},
                            {"ended", !d.load.no_end}}},
                          {"conservation_error_ns", d.conservation_error_ns},
                          {"shed", shed},
                          {"sources", sources_json(m)},
                          {"suspects", suspects_json(d)},
                          {"findings", findings_json(d, d.findings, d.stalled_ns())},
                          {"lineage_ns", d.lineage_ns},
                          {"path", path_json(d)},
                          {"silence_findings", findings_json(d, d.silence_findings, d.silent_ns)},
                          {"exposed_by", exposures},
                          {"through_locks", locks_json(d)},
                          {"long_calls", long_calls}};
  return dump(j);
}

std::string render_cause_json(const model::Diagnosis& d, const model::Finding& finding) {
  const auto all = findings_json(d, d.findings, d.stalled_ns());
  return dump(all.at(static_cast<std::size_t>(&finding - d.findings.data())));
}

}  // namespace whystall::output
