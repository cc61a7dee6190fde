// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <charconv>
#include <cstdlib>
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

bool parse_jitter(std::string_view word, double* share) {
  if (!word.starts_with("jitter=")) return false;
  word.remove_prefix(7);
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, *share);
  return error == std::errc() && stop == end && *share >= 0 && *share <= 1;
}

std::unique_ptr<Function> named(std::string_view name) {
  auto function = std::make_unique<Function>();
  function->name = name;
  function->duration_is_parameter = name.ends_with("_ns");
  return function;
}

std::unique_ptr<Function> parse_kernel(const std::vector<std::string_view>& words) {
  if (words.size() < 2 || words[0] != "kernel") return nullptr;
  auto function = named(words[1]);
  size_t next = 2;
  if (next < words.size() && parse_duration(words[next], &function->duration_ns)) {
    ++next;
  } else if (!function->duration_is_parameter) {
    return nullptr;
  }
  if (next < words.size() && parse_jitter(words[next], &function->jitter)) ++next;
  return next == words.size() ? std::move(function) : nullptr;
}

int64_t default_duration() {
  constexpr int64_t kDefaultNs = 10'000;
  const char* text = std::getenv("GPUSIM_KERNEL_NS");
  const std::string word = std::string("ns=") + (text ? text : "");
  int64_t ns = 0;
  return parse_duration(word, &ns) ? ns : kDefaultNs;
}

bool is_ptx(std::string_view image) {
  return image.find(".version") != std::string_view::npos &&
         image.find(".target") != std::string_view::npos;
}

Module parse_ptx(std::string_view image) {
  constexpr std::string_view kEntry = ".entry";
  constexpr std::string_view kSpace = " \t\r\n";
  Module module;
  for (;;) {
    const size_t entry = image.find(kEntry);
    if (entry == std::string_view::npos) return module;
    image.remove_prefix(entry + kEntry.size());
    const size_t first = image.find_first_not_of(kSpace);
    if (first == 0 || first == std::string_view::npos) continue;
    image.remove_prefix(first);
    const std::string_view name = image.substr(0, image.find_first_of(" \t\r\n(){;"));
    if (name.empty()) continue;
    auto function = named(name);
    function->duration_ns = default_duration();
    module.emplace(std::string(name), std::move(function));
  }
}

}  // namespace

std::optional<int64_t> Function::duration(void** params) {
  if (!duration_is_parameter) {
    // A fixed walk around the circle: spread evenly, and never twice the same.
    constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
    const auto turn = static_cast<double>(launches++ * kStep >> 11) / 0x1p53;
    return duration_ns +
           static_cast<int64_t>(jitter * (2 * turn - 1) * static_cast<double>(duration_ns));
  }
  if (!params || !params[0]) return std::nullopt;
  uint64_t ns = 0;
  std::memcpy(&ns, params[0], sizeof(ns));
  if (ns > static_cast<uint64_t>(kMaxDurationNs)) return std::nullopt;
  return static_cast<int64_t>(ns);
}

std::optional<Module> parse_image(std::string_view image) {
  if (is_ptx(image)) return parse_ptx(image);
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

Function* ModuleTable::function(CUfunction handle) const {
  if (functions_.count(handle) == 0) return nullptr;
  return reinterpret_cast<Function*>(handle);
}

}  // namespace gpusim
