// SPDX-License-Identifier: Apache-2.0
#include "capture/driver_api.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace whystall::capture {

namespace {

struct Known {
  std::string_view name;  // without _ptsz or _ptds
  wst_api_kind call;
  std::uint8_t stream_arg;
  std::uint8_t event_arg;
};

constexpr std::uint8_t kNone = WST_ARG_NONE;
constexpr std::uint8_t kUnknown = WST_ARG_UNKNOWN;

// Argument places of the public driver API on x86-64: 0-5 registers, then the stack.
constexpr std::array kKnown = {
    Known{"cuLaunchKernel", WST_API_SUBMIT, 8, kNone},
    Known{"cuGraphLaunch", WST_API_SUBMIT, 1, kNone},
    Known{"cuStreamSynchronize", WST_API_SYNC_STREAM, 0, kNone},
    Known{"cuCtxSynchronize", WST_API_SYNC_CONTEXT, kNone, kNone},
    Known{"cuCtxSynchronize_v2", WST_API_SYNC_CONTEXT, kNone, kNone},
    Known{"cuMemcpyHtoDAsync_v2", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemcpyDtoHAsync_v2", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemcpyHtoD_v2", WST_API_SUBMIT, kNone, kNone},
    Known{"cuMemcpyDtoH_v2", WST_API_SYNC_COPY, kNone, kNone},
    Known{"cuEventSynchronize", WST_API_SYNC_EVENT, kNone, 0},
    Known{"cuEventRecord", WST_API_RECORD_EVENT, 1, 0},
    Known{"cuEventRecordWithFlags", WST_API_RECORD_EVENT, 1, 0},
    // Which context a thread's next calls mean: with two of them, a proof of one says nothing of
    // the other.
    Known{"cuCtxSetCurrent", WST_API_CONTEXT, kNone, 0},
    Known{"cuCtxPushCurrent_v2", WST_API_CONTEXT, kNone, 0},
    Known{"cuCtxPushCurrent", WST_API_CONTEXT, kNone, 0},
    Known{"cuCtxPopCurrent_v2", WST_API_CONTEXT, kNone, kUnknown},
    Known{"cuCtxPopCurrent", WST_API_CONTEXT, kNone, kUnknown},
    Known{"cuCtxCreate_v2", WST_API_CONTEXT, kNone, kUnknown},
    Known{"cuCtxCreate_v3", WST_API_CONTEXT, kNone, kUnknown},
    Known{"cuCtxCreate_v4", WST_API_CONTEXT, kNone, kUnknown},
    Known{"cuLaunchCooperativeKernel", WST_API_SUBMIT, 8, kNone},
    Known{"cuMemcpyDtoDAsync_v2", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemcpyAsync", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemcpyPeerAsync", WST_API_SUBMIT, 5, kNone},
    Known{"cuMemcpy2DAsync_v2", WST_API_SUBMIT, 1, kNone},
    Known{"cuMemcpy3DAsync_v2", WST_API_SUBMIT, 1, kNone},
    Known{"cuMemsetD8Async", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemsetD16Async", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemsetD32Async", WST_API_SUBMIT, 3, kNone},
    Known{"cuLaunchHostFunc", WST_API_SUBMIT, 0, kNone},
    Known{"cuMemFreeAsync", WST_API_SUBMIT, 1, kNone},
    Known{"cuMemAllocAsync", WST_API_SUBMIT, 2, kNone},
};

/// Whatever else begins like this, or is called asynchronous, submits work on a stream whose place
/// we do not know.
constexpr std::array<std::string_view, 10> kSubmitPrefixes = {
    "cuLaunch",          "cuMemcpy",           "cuMemset",         "cuGraphLaunch",
    "cuGraphUpload",     "cuMemPrefetch",      "cuStreamBatchMem", "cuStreamWriteValue",
    "cuStreamWaitValue", "cuStreamAddCallback"};

bool submits_by_name(std::string_view name) {
  if (name.starts_with("cu") && name.find("Async") != std::string_view::npos) return true;
  return std::any_of(kSubmitPrefixes.begin(), kSubmitPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

struct BaseName {
  std::string_view name;
  bool per_thread;
};

BaseName base_name(std::string_view symbol) {
  for (std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (symbol.ends_with(suffix)) return {symbol.substr(0, symbol.size() - suffix.size()), true};
  }
  return {symbol, false};
}

std::optional<ApiProbe> probe_for(const target::Export& exported) {
  const auto& [symbol, function, place] = exported;
  const auto [name, per_thread] = base_name(symbol);
  for (std::size_t i = 0; i < kKnown.size(); i++) {
    const Known& k = kKnown[i];
    if (k.name != name) continue;
    const int priority = static_cast<int>(i) * 2 + (per_thread ? 1 : 0);
    return ApiProbe{symbol,       function,    place,      k.call,
                    k.stream_arg, k.event_arg, per_thread, priority};
  }
  if (submits_by_name(name)) {
    return ApiProbe{symbol, function, place, WST_API_SUBMIT, kUnknown, kNone, per_thread, 1000};
  }
  return std::nullopt;
}

}  // namespace

std::vector<ApiProbe> plan_api_probes(const std::vector<target::Export>& exports) {
  std::vector<ApiProbe> probes;
  for (const auto& exported : exports) {
    if (auto probe = probe_for(exported)) probes.push_back(std::move(*probe));
  }
  std::stable_sort(probes.begin(), probes.end(),
                   [](const ApiProbe& a, const ApiProbe& b) { return a.priority < b.priority; });
  std::set<std::uint64_t> seen;
  std::erase_if(probes, [&](const ApiProbe& p) { return !seen.insert(p.file_offset).second; });
  return probes;
}

}  // namespace whystall::capture
