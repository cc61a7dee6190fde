// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace gpusim {
namespace {

// What the list of this variable says of `function`: the text behind its '=', if there is one.
std::optional<const char*> said_of(const char* function, const char* variable) {
  const char* value = std::getenv(variable);
  const std::string_view name = function;
  while (value && *value) {
    const std::string_view rest = value;
    if (rest.starts_with(name)) {
      const char* end = value + name.size();
      if (*end == '=') return end + 1;
      if (*end == ',' || *end == '\0') return end;
    }
    const size_t comma = rest.find(',');
    value = comma == std::string_view::npos ? nullptr : value + comma + 1;
  }
  return std::nullopt;
}

void block(double seconds) {
  timespec left = {static_cast<time_t>(seconds), 0};
  left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

}  // namespace

bool lacks(const char* function) {
  return said_of(function, "GPUSIM_NVML_LACKS").has_value();
}

int fault(const char* function) {
  if (const auto seconds = said_of(function, "GPUSIM_NVML_BLOCK")) block(std::atof(*seconds));
  const auto code = said_of(function, "GPUSIM_NVML_ERROR");
  return code ? std::atoi(*code) : 0;
}

bool hides_processes() {
  const char* value = std::getenv("GPUSIM_NVML_PIDS");
  return value && std::string_view(value) == "absent";
}

}  // namespace gpusim
