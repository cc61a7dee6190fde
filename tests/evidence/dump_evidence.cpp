// SPDX-License-Identifier: Apache-2.0
//
// dump_evidence FILE.wst: what the driver's calls prove of each context, as JSON lines:
//   {"window":[LO,HI],"submits":N,"syncs":N,"queries":N}
//   {"pid":N,"device":N,"starved":[[LO,HI,"proven|likely"],…],"had_work":[[LO,HI],…],
//    "not_known":[[LO,HI],…],"possibly_starved":[[LO,HI],…],"silences":[[LO,HI],…]}
#include <cstdio>
#include <nlohmann/json.hpp>

#include "evidence/evidence.h"
#include "load/load.h"
#include "timeline/timeline.h"

namespace {

using nlohmann::ordered_json;
using namespace whystall;

ordered_json interval(const model::Interval& at) {
  return ordered_json::array({at.lo, at.hi});
}

ordered_json describe(const evidence::Context& context) {
  ordered_json starved = ordered_json::array(), had_work = ordered_json::array(),
               not_known = ordered_json::array(), possibly = ordered_json::array(),
               silences = ordered_json::array();
  for (const evidence::Stretch& s : context.stretches) {
    switch (s.state) {
      case evidence::State::kStarved:
        starved.push_back({s.at.lo, s.at.hi, confidence_name(s.confidence)});
        break;
      case evidence::State::kHadWork:
        had_work.push_back(interval(s.at));
        break;
      case evidence::State::kNotKnown:
        not_known.push_back(interval(s.at));
        break;
    }
  }
  for (const auto& at : context.possibly_starved) possibly.push_back(interval(at));
  for (const auto& silence : context.silences) silences.push_back(interval(silence.at));
  return {{"pid", context.pid},   {"device", context.device}, {"starved", starved},
          {"had_work", had_work}, {"not_known", not_known},   {"possibly_starved", possibly},
          {"silences", silences}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto recording = load::load_recording(argv[1], std::uint64_t{4} << 30);
  if (!recording) {
    std::fprintf(stderr, "%s\n", recording.error().text.c_str());
    return 1;
  }
  const timeline::Timeline timeline(*recording);
  const evidence::Evidence found = evidence::find_evidence(*recording, {*recording, timeline});
  std::puts(ordered_json({{"window", interval(found.window)},
                          {"submits", found.submits},
                          {"syncs", found.syncs},
                          {"queries", found.queries},
                          {"lost", recording->losses.size()}})
                .dump()
                .c_str());
  for (const auto& context : found.contexts) std::puts(describe(context).dump().c_str());
  return 0;
}
