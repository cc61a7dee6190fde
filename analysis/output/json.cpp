// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "base/time.h"
#include "output/output.h"

namespace whystall::output {

namespace {

using nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

ordered_json object_json(const model::FindingObject& o) {
  ordered_json j = {{"kind", o.kind}, {"name", printable(o.name)}, {"ns", o.ns}};
  if (o.kind == "file") {
    j["path"] = printable(o.name);
    j["inode"] = o.id.file.ino;
    j["device"] =
        std::to_string(o.id.file.dev >> 20) + ":" + std::to_string(o.id.file.dev & 0xfffff);
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

double share(model::DurationNs part, model::DurationNs whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double per_second(std::uint64_t count, model::DurationNs in) {
  return in > 0 ? static_cast<double>(count) * 1e9 / static_cast<double>(in) : 0;
}

ordered_json finding_json(const model::Finding& f, model::DurationNs stalled) {
  ordered_json by_confidence;
  for (std::size_t i = 0; i < f.by_confidence.size(); i++) {
    by_confidence[std::string(confidence_name(static_cast<model::Confidence>(i)))] =
        f.by_confidence[i];
  }
  ordered_json objects = ordered_json::array();
  for (const auto& o : f.objects) objects.push_back(object_json(o));
  return {{"cause", cause_name(f.cause)},
          {"ns", f.ns},
          {"share", share(f.ns, stalled)},
          {"confidence", confidence_name(f.confidence)},
          {"confidence_ns", by_confidence},
          {"gaps", f.gaps},
          {"pieces", f.pieces},
          {"object", printable(f.object)},
          {"path", printable(f.path)},
          {"objects", objects}};
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
  ordered_json findings = ordered_json::array();
  for (const auto& f : d.findings) findings.push_back(finding_json(f, d.stalled_ns()));
  ordered_json silences = ordered_json::array(), devices = ordered_json::array(),
               exposures = ordered_json::array(), long_calls = ordered_json::array(),
               shed = ordered_json::array();
  for (const auto& f : d.silence_findings) silences.push_back(finding_json(f, d.silent_ns));
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
                    {"cpu_share", s.cpu_share},
                    {"calls_per_second", s.calls_per_second}});
  }
  const ordered_json j = {{"schema_version", kSchemaVersion},
                          {"whystall", m.whystall},
                          {"window",
                           {{"start_ns", m.start_ns},
                            {"end_ns", m.end_ns},
                            {"wall_start", format_wall_time(m.wall_start_ns)},
                            {"stopped_by", m.stopped_by}}},
                          {"host", {{"name", printable(m.host)}, {"kernel", printable(m.kernel)}}},
                          {"target", target},
                          {"given", given},
                          {"cost_cpu_share", cost},
                          {"profile", m.profile},
                          {"clock", m.clock},
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
                          {"findings", findings},
                          {"silence_findings", silences},
                          {"exposed_by", exposures},
                          {"long_calls", long_calls}};
  return j.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace whystall::output
