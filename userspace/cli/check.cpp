// SPDX-License-Identifier: Apache-2.0
#include "capture/check.h"

#include <nlohmann/json.hpp>

#include "commands.h"
#include "output/layout.h"

namespace whystall::cli {

namespace {

using capture::CheckedSource;

constexpr int kColumns = 80;
constexpr int kName = 21;
constexpr int kState = 10;

std::string as_text(const std::vector<CheckedSource>& sources) {
  std::string out;
  const std::string indent(kName, ' ');
  for (const CheckedSource& s : sources) {
    out += output::pad(s.name, kName) + output::pad(std::string(state_name(s.state)), kState) +
           output::cut(s.tells, kColumns - kName - kState) + "\n";
    auto add = [&](const char* label, const std::string& text) {
      if (!text.empty()) out += indent + output::cut(label + text, kColumns - kName) + "\n";
    };
    add("why: ", s.why);
    add("without it: ", s.effect);
    add("remedy: ", s.remedy);
    add("price here: ", s.price);
  }
  return out;
}

std::string as_json(const std::vector<CheckedSource>& sources) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const CheckedSource& s : sources) {
    list.push_back({{"name", s.name},
                    {"state", std::string(state_name(s.state))},
                    {"tells", s.tells},
                    {"why", s.why},
                    {"without", s.effect},
                    {"remedy", s.remedy},
                    {"price", s.price}});
  }
  return nlohmann::ordered_json{{"whystall", WHYSTALL_VERSION}, {"sources", list}}.dump(2) + "\n";
}

}  // namespace

int run_check(Format format) {
  auto sources = capture::check_sources();
  if (!sources) return fail(sources.error());
  return write_out(format == Format::kJson ? as_json(*sources) : as_text(*sources), "");
}

}  // namespace whystall::cli
