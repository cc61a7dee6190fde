// SPDX-License-Identifier: Apache-2.0
#include "capture/driver_api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace whystall::capture {
namespace {

std::vector<ApiProbe> plan(const std::vector<const char*>& names) {
  std::vector<target::Export> exports;
  for (const char* name : names) {
    const std::uint64_t function = 0x1000 + 0x10 * exports.size();
    exports.push_back({name, function, function + 10});
  }
  return plan_api_probes(exports);
}

/// The probe of a library that exports this one function.
ApiProbe probe_of(const char* name) {
  const auto probes = plan({name});
  EXPECT_EQ(probes.size(), 1u) << name;
  return probes.empty() ? ApiProbe{} : probes.front();
}

struct Expected {
  const char* name;
  wst_api_kind call;
  int stream_arg, event_arg;
};

// The places are those of the parameters in cuda.h, counted from 0.
constexpr int kNone = WST_ARG_NONE;
constexpr Expected kFunctions[] = {
    {"cuLaunchKernel", WST_API_SUBMIT, 8, kNone},
    {"cuLaunchCooperativeKernel", WST_API_SUBMIT, 8, kNone},
    {"cuGraphLaunch", WST_API_SUBMIT, 1, kNone},
    {"cuMemcpyHtoDAsync_v2", WST_API_COPY, 3, kNone},
    {"cuMemcpyDtoHAsync_v2", WST_API_COPY, 3, kNone},
    {"cuMemcpyDtoDAsync_v2", WST_API_SUBMIT, 3, kNone},
    {"cuMemcpyAsync", WST_API_COPY, 3, kNone},
    {"cuMemcpyPeerAsync", WST_API_SUBMIT, 5, kNone},
    {"cuMemcpy2DAsync_v2", WST_API_COPY, 1, kNone},
    {"cuMemcpy3DAsync_v2", WST_API_COPY, 1, kNone},
    {"cuMemsetD8Async", WST_API_SUBMIT, 3, kNone},
    {"cuMemsetD32Async", WST_API_SUBMIT, 3, kNone},
    {"cuLaunchHostFunc", WST_API_SUBMIT, 0, kNone},
    {"cuMemFreeAsync", WST_API_SUBMIT, 1, kNone},
    {"cuMemAllocAsync", WST_API_SUBMIT, 2, kNone},
    {"cuMemcpyHtoD_v2", WST_API_COPY, kNone, kNone},
    {"cuMemcpyDtoH_v2", WST_API_SYNC_COPY, kNone, kNone},
    {"cuStreamSynchronize", WST_API_SYNC_STREAM, 0, kNone},
    {"cuCtxSynchronize", WST_API_SYNC_CONTEXT, kNone, kNone},
    {"cuEventSynchronize", WST_API_SYNC_EVENT, kNone, 0},
    {"cuEventRecord", WST_API_RECORD_EVENT, 1, 0},
    {"cuEventRecordWithFlags", WST_API_RECORD_EVENT, 1, 0},
};

TEST(PlanApiProbes, ReadsEachFunctionsStreamAndEventWhereTheyAre) {
  for (const Expected& want : kFunctions) {
    const ApiProbe probe = probe_of(want.name);
    EXPECT_EQ(probe.symbol, want.name);
    EXPECT_EQ(probe.call, want.call) << want.name;
    EXPECT_EQ(probe.stream_arg, want.stream_arg) << want.name;
    EXPECT_EQ(probe.event_arg, want.event_arg) << want.name;
    EXPECT_FALSE(probe.per_thread) << want.name;
    EXPECT_EQ(probe.file_offset, 0x1000u);
    EXPECT_EQ(probe.probe_offset, 0x100au);
  }
}

TEST(PlanApiProbes, VariantsForPerThreadStreamsDifferInNothingElse) {
  for (const Expected& want : kFunctions) {
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      const std::string name = std::string(want.name) + suffix;
      const ApiProbe probe = probe_of(name.c_str());
      EXPECT_EQ(probe.symbol, name);
      EXPECT_TRUE(probe.per_thread) << name;
      EXPECT_EQ(probe.call, want.call) << name;
      EXPECT_EQ(probe.stream_arg, want.stream_arg) << name;
    }
  }
}

TEST(PlanApiProbes, SubmitsOfUnknownShapeHaveAnUnknownStream) {
  for (const char* name :
       {"cuLaunchGridAsync", "cuLaunchSomethingNew", "cuMemcpyBatchAsync", "cuMemcpy3DPeerAsync",
        "cuMemcpyAtoH_v2", "cuStreamWriteValue32_v2", "cuStreamWaitValue64",
        "cuStreamBatchMemOp_v2", "cuGraphLaunchSomethingNew"}) {
    const ApiProbe probe = probe_of(name);
    EXPECT_EQ(probe.call, WST_API_SUBMIT) << name;
    EXPECT_EQ(probe.stream_arg, WST_ARG_UNKNOWN) << name;
    EXPECT_EQ(probe.event_arg, WST_ARG_NONE) << name;
    EXPECT_EQ(probe.group(), ProbeGroup::kEntry) << name;
  }
  EXPECT_TRUE(probe_of("cuLaunchKernelEx_ptsz").per_thread);
}

TEST(PlanApiProbes, EveryFunctionThatEnqueuesOnAStreamIsASubmit) {
  for (const char* name :
       {"cuMemAllocFromPoolAsync", "cuGraphUpload", "cuSignalExternalSemaphoresAsync",
        "cuWaitExternalSemaphoresAsync", "cuMemMapArrayAsync", "cuStreamAttachMemAsync",
        "cuMemDiscardBatchAsync", "cuMemBatchDecompressAsync"}) {
    const auto probes = plan({name});
    EXPECT_TRUE(probes.size() == 1 && probes[0].call == WST_API_SUBMIT) << name;
  }
}

TEST(PlanApiProbes, LeavesOutWhatNothingFollowsFrom) {
  EXPECT_TRUE(
      plan({"cuEventElapsedTime", "cuEventCreate", "cuStreamGetCtx", "cuInit", "cuMemGetInfo_v2",
            "cuModuleLoad", "cuCtxGetCurrent", "cuGetProcAddress_v2", "malloc", "", "_ptsz", "cu"})
          .empty());
}

TEST(PlanApiProbes, PutsOneProbeOnAnAddress) {
  const auto probes = plan_api_probes({{"cuMemcpyAsync_ptsz", 0x10, 0x10},
                                       {"cuLaunchKernel", 0x20, 0x20},
                                       {"cuMemcpyAsync", 0x10, 0x10},
                                       {"cuLaunchSomethingNew", 0x20, 0x20},
                                       {"cuCtxSynchronize", 0x30, 0x30}});
  ASSERT_EQ(probes.size(), 3u);
  std::set<std::string> symbols;
  for (const auto& probe : probes) symbols.insert(probe.symbol);
  EXPECT_EQ(symbols, (std::set<std::string>{"cuLaunchKernel", "cuCtxSynchronize", "cuMemcpyAsync"}))
      << "of two names, the one that says more";
}

TEST(PlanApiProbes, OrdersByPriorityWithUnknownOnesLast) {
  const auto probes = plan({"cuLaunchSomethingNew", "cuMemAllocAsync", "cuStreamSynchronize_ptsz",
                            "cuStreamSynchronize", "cuLaunchKernel", "cuMemcpyAtoH_v2"});
  ASSERT_EQ(probes.size(), 6u);
  EXPECT_TRUE(std::is_sorted(probes.begin(), probes.end(),
                             [](const auto& a, const auto& b) { return a.priority < b.priority; }));
  EXPECT_EQ(probes.front().symbol, "cuLaunchKernel");
  EXPECT_EQ(probes[1].symbol, "cuStreamSynchronize");
  EXPECT_EQ(probes[2].symbol, "cuStreamSynchronize_ptsz");
  EXPECT_EQ(probes[4].stream_arg, WST_ARG_UNKNOWN);
  EXPECT_EQ(probes[5].stream_arg, WST_ARG_UNKNOWN);
}

TEST(PlanApiProbes, LaunchesAreProbedAtTheirEntryAlone) {
  for (const char* name : {"cuLaunchKernel", "cuLaunchKernelEx", "cuGraphLaunch", "cuEventRecord",
                           "cuStreamWaitEvent", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async",
                           "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuCtxSetCurrent"}) {
    EXPECT_EQ(probe_of(name).group(), ProbeGroup::kEntry) << name;
  }
  for (const char* name : {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize",
                           "cuMemcpyDtoH_v2", "cuMemcpyHtoDAsync_v2", "cuMemAlloc_v2",
                           "cuMemFree_v2", "cuStreamCreate", "cuCtxCreate_v2"}) {
    EXPECT_EQ(probe_of(name).group(), ProbeGroup::kTimed) << name;
  }
  for (const char* name : {"cuStreamQuery", "cuEventQuery_ptsz"})
    EXPECT_EQ(probe_of(name).group(), ProbeGroup::kQuery) << name;
}

TEST(PlanApiProbes, WhatACallStoresIsReadAtItsReturn) {
  EXPECT_EQ(probe_of("cuStreamCreateWithPriority").stream_arg, WST_ARG_RESULT);
  EXPECT_EQ(probe_of("cuCtxCreate_v3").event_arg, WST_ARG_RESULT);
  EXPECT_EQ(probe_of("cuLaunchKernelEx_ptsz").stream_arg, 0x80 | 4) << "the configuration's";
  EXPECT_TRUE(probe_of("cuLaunchKernelEx_ptsz").per_thread);
  EXPECT_EQ(probe_of("cuMemcpyHtoDAsync_v2").bytes_arg, 2);
}

}  // namespace
}  // namespace whystall::capture
