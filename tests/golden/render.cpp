// SPDX-License-Identifier: Apache-2.0
//
// render FILE.wst text|json|schema|cause N|cause-json N: the analysis and its outputs without the
// program around them, so that they can be built alone and with the sanitizers.
#include <cstdio>
#include <string>

#include "ledger/ledger.h"
#include "load/load.h"
#include "output/output.h"

using namespace whystall;

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[2] : "";
  auto recording = load::load_recording(argc > 1 ? argv[1] : "");
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().text.c_str());
    return 5;
  }
  const model::Diagnosis diagnosis = ledger::diagnose(*recording);
  std::string text;
  if (what == "text") text = output::render_text(diagnosis, {});
  if (what == "json") text = output::render_json(diagnosis);
  if (what == "schema") text = output::report_schema();
  if (what == "cause" || what == "cause-json") {
    const auto* finding = output::find_cause(diagnosis, argc > 3 ? argv[3] : "1");
    if (!finding) return 1;
    text = what == "cause" ? output::render_cause_text(diagnosis, *finding, {})
                           : output::render_cause_json(diagnosis, *finding);
  }
  return text.empty() || std::fwrite(text.data(), 1, text.size(), stdout) != text.size();
}
