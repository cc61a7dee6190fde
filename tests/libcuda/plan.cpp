// SPDX-License-Identifier: Apache-2.0
//
// libcuda_plan LIBRARY: each exported function as a JSON line, where it would be probed, and how
// the probe reads its arguments if it is one of those that are watched.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "capture/driver_api.h"
#include "target/exports.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto exports = whystall::target::exported_functions(argv[1]);
  if (!exports) {
    std::fprintf(stderr, "%s\n", exports.error().text.c_str());
    return 1;
  }
  std::map<std::string, nlohmann::json> planned;
  for (const auto& probe : whystall::capture::plan_api_probes(*exports)) {
    planned[probe.symbol] = {
        {"call", static_cast<int>(probe.call)}, {"stream_arg", probe.stream_arg},
        {"event_arg", probe.event_arg},         {"per_thread", probe.per_thread},
        {"bytes_arg", probe.bytes_arg},         {"group", static_cast<int>(probe.group())},
        {"probe_offset", probe.probe_offset}};
  }
  for (const auto& e : *exports) {
    const auto found = planned.find(e.name);
    const nlohmann::json line = {
        {"symbol", e.name},
        {"file_offset", e.file_offset},
        {"probe_offset", e.probe_offset},
        {"probe", found == planned.end() ? nlohmann::json() : found->second}};
    std::puts(line.dump().c_str());
  }
  return 0;
}
