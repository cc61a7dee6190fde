// SPDX-License-Identifier: Apache-2.0
// Modules of the simulated driver: a text image, one `kernel NAME ns=DURATION [jitter=SHARE]` a
// line, `#` comments. A kernel whose name ends in `_ns` takes its duration from its first parameter
// (uint64_t) instead and may leave `ns=` out. PTX is understood as far as its entries' names, so
// that a program can load one image here and on a real driver; GPUSIM_KERNEL_NS is the duration of
// those that have none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "cuda_abi.h"

namespace gpusim {

struct Function {
  std::string name;
  int64_t duration_ns = 0;
  double jitter = 0;  // the duration varies by up to this share of it
  bool duration_is_parameter = false;
  uint64_t launches = 0;

  // Of the next launch. Nothing if the parameter is needed and missing, or beyond a day. Jitter is
  // the same sequence in each run.
  std::optional<int64_t> duration(void** params);
};

using Module = std::unordered_map<std::string, std::unique_ptr<Function>>;

// Nothing if the image is not understood.
std::optional<Module> parse_image(std::string_view image);

class ModuleTable {
 public:
  CUmodule load(Module module);
  bool unload(CUmodule handle);
  CUresult find(CUmodule handle, const char* name, CUfunction* function) const;
  // Null for an unknown handle.
  Function* function(CUfunction handle) const;

 private:
  std::unordered_map<CUmodule, std::unique_ptr<Module>> modules_;
  std::unordered_set<CUfunction> functions_;
};

}  // namespace gpusim
