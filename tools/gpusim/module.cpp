// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

namespace gpusim {
namespace {

constexpr int64_t kMaxDurationNs = 86'400'000'000'000;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') return words;
    line.remove_prefix(first);
    const size_t length = line.find_first_of(" \t\r");
    words.push_back(line.substr(0, length));
    if (length == std::string_view::npos) return words;
    line.remove_prefix(length);
  }
}

bool parse_duration(std::string_view word, int64_t* ns) {
  if (!word.starts_with("ns=")) return false;
  word.remove_prefix(3);
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, *ns);
  return error == std::errc() && stop == end && *ns >= 0 && *ns <= kMaxDurationNs;
}

std::unique_ptr<Function> parse_kernel(const std::vector<std::string_view>& words) {
  if (words.size() < 2 || words.size() > 3 || words[0] != "kernel") return nullptr;
  auto function = std::make_unique<Function>();
  function->name = words[1];
  function->duration_is_parameter = words[1].ends_with("_ns");
  const bool given = words.size() == 3;
  if (given && !parse_duration(words[2], &function->duration_ns)) return nullptr;
  if (!given && !function->duration_is_parameter) return nullptr;
  return function;
}

}  // namespace

std::optional<int64_t> Function::duration(void** params) const {
  if (!duration_is_parameter) return duration_ns;
  if (!params || !params[0]) return std::nullopt;
  uint64_t ns = 0;
  std::memcpy(&ns, params[0], sizeof(ns));
  if (ns > static_cast<uint64_t>(kMaxDurationNs)) return std::nullopt;
  return static_cast<int64_t>(ns);
}

std::optional<Module> parse_image(std::string_view image) {
  Module module;
  while (!image.empty()) {
    const size_t length = image.find('\n');
    const auto words = words_of(image.substr(0, length));
    image.remove_prefix(length == std::string_view::npos ? image.size() : length + 1);
    if (words.empty()) continue;
    auto function = parse_kernel(words);
    if (!function) return std::nullopt;
    std::string name = function->name;
    if (!module.emplace(std::move(name), std::move(function)).second) return std::nullopt;
  }
  return module;
}

CUmodule ModuleTable::load(Module module) {
  auto owned = std::make_unique<Module>(std::move(module));
  const auto handle = reinterpret_cast<CUmodule>(owned.get());
  for (const auto& [name, function] : *owned) {
    functions_.insert(reinterpret_cast<CUfunction>(function.get()));
  }
  modules_.emplace(handle, std::move(owned));
  return handle;
}

bool ModuleTable::unload(CUmodule handle) {
  const auto found = modules_.find(handle);
  if (found == modules_.end()) return false;
  for (const auto& [name, function] : *found->second) {
    functions_.erase(reinterpret_cast<CUfunction>(function.get()));
  }
  modules_.erase(found);
  return true;
}

CUresult ModuleTable::find(CUmodule handle, const char* name, CUfunction* function) const {
  const auto found = modules_.find(handle);
  if (found == modules_.end()) return CUDA_ERROR_INVALID_HANDLE;
  const auto entry = found->second->find(name);
  if (entry == found->second->end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(entry->second.get());
  return CUDA_SUCCESS;
}

const Function* ModuleTable::function(CUfunction handle) const {
  if (functions_.count(handle) == 0) return nullptr;
  return reinterpret_cast<const Function*>(handle);
}

}  // namespace gpusim
