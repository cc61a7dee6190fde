// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a recording: read, analysed and printed in all forms. A crash, a sanitizer's report,
// a sum that is not exact or an output that is not strict UTF-8 or JSON is a finding.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "envelope.h"
#include "ledger/ledger.h"
#include "load/load.h"
#include "load/summary.h"
#include "output/info.h"
#include "output/output.h"

using namespace whystall;

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

void require_clean(const std::string& text) {
  require(std::all_of(text.begin(), text.end(),
                      [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; }),
          "no control characters");
  require(nlohmann::json::accept(nlohmann::json(text).dump()), "UTF-8");  // dump() throws otherwise
}

void require_exact(const model::Diagnosis& d) {
  require(d.conservation_error_ns == 0, "the gaps are charged once");
  model::DurationNs sum = 0;
  for (const model::Finding& f : d.findings) {
    sum += f.ns;
    model::DurationNs objects = 0;
    for (const auto& object : f.objects) objects += object.ns;
    require(objects == f.ns, "a finding's objects sum to it");
    require(f.evidence.size() <= model::kMostEvidence, "evidence is bounded");
    for (const auto& e : f.evidence)
      require(e.ns > 0 && e.ns <= e.gap.length(), "a gap has no more of a finding than it is long");
  }
  require(sum == d.starved_ns + d.micro_gap_ns, "the findings sum to the idle time");
}

void report_on(const std::string& path) {
  constexpr std::uint64_t kMaxMemory = 256u << 20;
  if (const auto summary = load::summarize(path)) {
    require_clean(output::render_info_text(summary.value(), "a.wst"));
    require(nlohmann::json::accept(output::render_info_json(summary.value(), "a.wst")), "JSON");
  }
  auto recording = load::load_recording(path, kMaxMemory);
  if (!recording) return;
  const model::Diagnosis d = ledger::diagnose(*recording);
  require_exact(d);
  require_clean(output::render_text(d, {}));
  require(nlohmann::json::accept(output::render_json(d)), "JSON");
  for (std::size_t i = 0; i < std::min<std::size_t>(d.findings.size(), 4); i++)
    require_clean(output::render_cause_text(d, d.findings[i], {}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int kFile = memfd_create("recording", 0);
  static const std::string kPath = "/proc/self/fd/" + std::to_string(kFile);
  const auto bytes = fuzz::file_of({data, size});
  require(ftruncate(kFile, 0) == 0, "an empty file");
  require(pwrite(kFile, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          "a file");
  report_on(kPath);
  return 0;
}
