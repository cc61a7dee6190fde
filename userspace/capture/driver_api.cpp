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
  std::uint8_t bytes_arg = WST_ARG_NONE;
};

constexpr std::uint8_t kNone = WST_ARG_NONE;
constexpr std::uint8_t kUnknown = WST_ARG_UNKNOWN;
constexpr std::uint8_t kResult = WST_ARG_RESULT;
constexpr std::uint8_t kLaunchConfigStream = WST_ARG_FIELD(32);

// Argument places of the public driver API on x86-64: 0-5 registers, then the stack. In the order
// of need, where only some can be probed.
constexpr std::array kKnown = {
    Known{"cuLaunchKernel", WST_API_SUBMIT, 8, kNone},
    Known{"cuLaunchKernelEx", WST_API_SUBMIT, kLaunchConfigStream, kNone},
    Known{"cuGraphLaunch", WST_API_SUBMIT, 1, kNone},
    Known{"cuStreamSynchronize", WST_API_SYNC_STREAM, 0, kNone},
    Known{"cuCtxSynchronize", WST_API_SYNC_CONTEXT, kNone, kNone},
    Known{"cuCtxSynchronize_v2", WST_API_SYNC_CONTEXT, kNone, 0},
    Known{"cuMemcpyHtoDAsync_v2", WST_API_COPY, 3, kNone, 2},
    Known{"cuMemcpyDtoHAsync_v2", WST_API_COPY, 3, kNone, 2},
    Known{"cuMemcpyHtoD_v2", WST_API_COPY, kNone, kNone, 2},
    Known{"cuMemcpyDtoH_v2", WST_API_SYNC_COPY, kNone, kNone, 2},
    Known{"cuEventSynchronize", WST_API_SYNC_EVENT, kNone, 0},
    Known{"cuEventRecord", WST_API_RECORD_EVENT, 1, 0},
    Known{"cuEventRecordWithFlags", WST_API_RECORD_EVENT, 1, 0},
    Known{"cuStreamWaitEvent", WST_API_WAIT_EVENT, 0, 1},
    // Handles are used again: what a destroyed one proved, its successor does not.
    Known{"cuStreamDestroy_v2", WST_API_STREAM_DESTROY, 0, kNone},
    Known{"cuStreamDestroy", WST_API_STREAM_DESTROY, 0, kNone},
    Known{"cuEventDestroy_v2", WST_API_EVENT_DESTROY, kNone, 0},
    Known{"cuEventDestroy", WST_API_EVENT_DESTROY, kNone, 0},
    // Which context a thread's next calls mean: with two of them, a proof of one says nothing of
    // the other.
    Known{"cuCtxSetCurrent", WST_API_CONTEXT, kNone, 0},
    Known{"cuCtxPushCurrent_v2", WST_API_CONTEXT, kNone, 0},
    Known{"cuCtxPushCurrent", WST_API_CONTEXT, kNone, 0},
    Known{"cuCtxPopCurrent_v2", WST_API_CONTEXT, kNone, kUnknown},
    Known{"cuCtxPopCurrent", WST_API_CONTEXT, kNone, kUnknown},
    Known{"cuMemcpyAsync", WST_API_COPY, 3, kNone, 2},
    Known{"cuMemcpy", WST_API_COPY, kNone, kNone, 2},
    Known{"cuLaunchCooperativeKernel", WST_API_SUBMIT, 8, kNone},
    Known{"cuMemsetD8Async", WST_API_SUBMIT, 3, kNone},
    // A device's number in place of a size.
    Known{"cuCtxCreate_v2", WST_API_CONTEXT_NEW, kNone, kResult, 2},
    Known{"cuCtxCreate", WST_API_CONTEXT_NEW, kNone, kResult, 2},
    Known{"cuCtxCreate_v3", WST_API_CONTEXT_NEW, kNone, kResult, 4},
    Known{"cuCtxCreate_v4", WST_API_CONTEXT_NEW, kNone, kResult, 3},
    Known{"cuDevicePrimaryCtxRetain", WST_API_CONTEXT_DEVICE, kNone, kResult, 1},
    Known{"cuCtxDestroy_v2", WST_API_CONTEXT_DESTROY, kNone, 0},
    Known{"cuCtxDestroy", WST_API_CONTEXT_DESTROY, kNone, 0},
    Known{"cuMemcpyDtoDAsync_v2", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemcpyDtoD_v2", WST_API_SUBMIT, kNone, kNone},
    Known{"cuMemcpyPeerAsync", WST_API_SUBMIT, 5, kNone},
    Known{"cuMemcpyPeer", WST_API_SUBMIT, kNone, kNone},
    Known{"cuMemcpy2DAsync_v2", WST_API_COPY, 1, kNone},
    Known{"cuMemcpy2D_v2", WST_API_COPY, kNone, kNone},
    Known{"cuMemcpy2DUnaligned_v2", WST_API_COPY, kNone, kNone},
    Known{"cuMemcpy3DAsync_v2", WST_API_COPY, 1, kNone},
    Known{"cuMemcpy3D_v2", WST_API_COPY, kNone, kNone},
    Known{"cuMemcpyHtoAAsync_v2", WST_API_COPY, 4, kNone, 3},
    Known{"cuMemcpyAtoHAsync_v2", WST_API_COPY, 4, kNone, 3},
    Known{"cuMemsetD16Async", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemsetD32Async", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemsetD2D8Async", WST_API_SUBMIT, 5, kNone},
    Known{"cuMemsetD2D16Async", WST_API_SUBMIT, 5, kNone},
    Known{"cuMemsetD2D32Async", WST_API_SUBMIT, 5, kNone},
    Known{"cuMemsetD8_v2", WST_API_SUBMIT, kNone, kNone},
    Known{"cuMemsetD16_v2", WST_API_SUBMIT, kNone, kNone},
    Known{"cuMemsetD32_v2", WST_API_SUBMIT, kNone, kNone},
    Known{"cuLaunchHostFunc", WST_API_SUBMIT, 0, kNone},
    Known{"cuStreamAddCallback", WST_API_SUBMIT, 0, kNone},
    Known{"cuMemFreeAsync", WST_API_SUBMIT, 1, kNone},
    Known{"cuMemAllocAsync", WST_API_SUBMIT, 2, kNone},
    Known{"cuMemAllocFromPoolAsync", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemPrefetchAsync", WST_API_SUBMIT, 3, kNone},
    Known{"cuMemPrefetchAsync_v2", WST_API_SUBMIT, 4, kNone},
    Known{"cuGraphUpload", WST_API_SUBMIT, 1, kNone},
    Known{"cuEventQuery", WST_API_QUERY_EVENT, kNone, 0},
    Known{"cuStreamQuery", WST_API_QUERY_STREAM, 0, kNone},
    Known{"cuStreamCreate", WST_API_STREAM_CREATE, kResult, 1},
    Known{"cuStreamCreateWithPriority", WST_API_STREAM_CREATE, kResult, 1},
    Known{"cuMemFree_v2", WST_API_MEMORY, kNone, kNone},
    Known{"cuMemAlloc_v2", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemHostAlloc", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemAllocHost_v2", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemFreeHost", WST_API_MEMORY, kNone, kNone},
    Known{"cuMemHostRegister_v2", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemHostUnregister", WST_API_MEMORY, kNone, kNone},
    Known{"cuMemAllocPitch_v2", WST_API_MEMORY, kNone, kNone},
    Known{"cuMemAllocManaged", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemCreate", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemRelease", WST_API_MEMORY, kNone, kNone},
    Known{"cuMemMap", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemUnmap", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemSetAccess", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemAddressReserve", WST_API_MEMORY, kNone, kNone, 1},
    Known{"cuMemPoolTrimTo", WST_API_MEMORY, kNone, kNone},
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
    return ApiProbe{symbol,      function,    place,      k.call,  k.stream_arg,
                    k.event_arg, k.bytes_arg, per_thread, priority};
  }
  if (submits_by_name(name)) {
    return ApiProbe{symbol, function,   place, WST_API_SUBMIT, kUnknown, kNone,
                    kNone,  per_thread, 1000};
  }
  return std::nullopt;
}

}  // namespace

ProbeGroup ApiProbe::group() const {
  switch (call) {
    case WST_API_QUERY_STREAM:
    case WST_API_QUERY_EVENT:
      return ProbeGroup::kQuery;
    case WST_API_SYNC_STREAM:
    case WST_API_SYNC_CONTEXT:
    case WST_API_SYNC_EVENT:
    case WST_API_SYNC_COPY:
    case WST_API_COPY:
    case WST_API_MEMORY:
    case WST_API_STREAM_CREATE:
    case WST_API_CONTEXT_NEW:
    case WST_API_CONTEXT_DESTROY:
    case WST_API_CONTEXT_DEVICE:
      return ProbeGroup::kTimed;
    default:
      return ProbeGroup::kEntry;
  }
}

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
