// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "advice/advice.h"

namespace whystall::advice {

using model::Cause;
using model::Confidence;
using model::DurationNs;
using model::Finding;

namespace {

DurationNs sure_ns(const Finding& f) {
  return f.by_confidence[static_cast<std::size_t>(Confidence::kProven)] +
         f.by_confidence[static_cast<std::size_t>(Confidence::kLikely)];
}

/// Whether the thread that launches waited itself, and not somebody that it waited for.
bool in_launching_thread(const Finding& f) {
  return !f.evidence.empty() && f.evidence.front().chain.size() == 1;
}

bool on_a_server(const Finding& f) {
  for (const char* fs : {"fuse", "nfs", "cifs", "smb3", "9p", "ceph", "lustre", "virtiofs"}) {
    if (f.object.find(std::string(" on ") + fs) != std::string::npos) return true;
  }
  return false;
}

NextStep storage_read(const Finding& f) {
  if (in_launching_thread(f))
    return {"read ahead in loader workers (num_workers)",
            "The launching thread itself reads: check first whether the reads can be made ahead of "
            "it, in loader workers (num_workers, prefetch_factor)."};
  if (on_a_server(f))
    return {
        "copy or cache the files locally",
        "The file system is served over the network or by a daemon: check first whether a local "
        "copy or cache holds these files; else read more of them at once (num_workers)."};
  return {"cache the files, read larger pieces or ahead",
          "Check first whether the files fit into memory (page cache); else read larger pieces, or "
          "more of them at once (num_workers, prefetch_factor)."};
}

NextStep lock(const Finding& f) {
  const bool slept = !f.objects.empty() && f.objects.front().id.slept;
  if (slept)
    return {
        "see why its holder sleeps under the lock",
        "The holder slept while it held the lock: check first why, and whether it can let go of "
        "the lock before."};
  return {"hold the lock for shorter, or split it",
          "The holder computed while it held the lock: check first whether it can hold it for "
          "shorter, or whether the work can be split over several locks."};
}

NextStep computing(const Finding& f) {
  if (in_launching_thread(f))
    return {
        "profile the launching thread's Python code",
        "The launching thread computes between launches: check first with a CPU profiler what it "
        "does there; move preprocessing, logging and collecting out of it."};
  return {"use more workers, or cheaper items",
          "Threads that the launch depends on compute: check first whether there are CPUs for more "
          "of them (num_workers); else make each item cheaper."};
}

NextStep advice_for(const Finding& f) {
  switch (f.cause) {
    case Cause::kStorageRead:
      return storage_read(f);
    case Cause::kStorageFault:
      return {
          "read the file ahead instead of mapping it",
          "Check first whether the file can be read in large pieces, or ahead, instead of being "
          "touched page by page through a mapping (mmap)."};
    case Cause::kStorageMetadata:
      return {"pack small files into shards",
              "Check first how many files are opened per batch: pack small files into shards, and "
              "keep files open."};
    case Cause::kStorageWrite:
      return {"save checkpoints and logs asynchronously",
              "Check first what is written here: save checkpoints asynchronously, and do not call "
              "fsync for each line of a log."};
    case Cause::kMemoryFault:
      return {"reuse buffers, or touch them beforehand",
              "Check first whether memory is allocated and freed in each step: reuse buffers, or "
              "touch them once beforehand."};
    case Cause::kCpuContention:
      return {"give these threads CPUs of their own",
              "Check first whether the job that ran instead must share these CPUs: set the CPU "
              "affinity (cpuset) of one of both, or more CPU weight."};
    case Cause::kCpuOversubscription:
      return {"use fewer threads (OMP_NUM_THREADS, workers)",
              "Check first how many threads the program starts for the CPUs that it may use: "
              "OMP_NUM_THREADS, num_workers and the pools of its libraries."};
    case Cause::kCpuThrottled:
      return {"raise the CPU limit, or use fewer threads",
              "Check first the CPU limit of the container or the control group (cpu.max, "
              "nr_throttled), and whether fewer threads would stay below it."};
    case Cause::kCpuStopped:
      return {
          "find who stops these threads, and why",
          "Check first who stopped them: a debugger, a profiler, a job scheduler or the freezer "
          "of the control group."};
    case Cause::kCpuWakeup:
      return {"look at the CPUs' idle states",
              "Check first which idle states the CPUs use, and in a guest whether the host takes "
              "CPUs away."};
    case Cause::kCpuWaiting:
      return {"check allowed CPUs, CPU limit, steal time",
              "Check first which CPUs these threads may use, the CPU limit, and in a guest whether "
              "the host takes CPUs away (steal time)."};
    case Cause::kCpuBusy:
      return computing(f);
    case Cause::kLockUser:
      return lock(f);
    case Cause::kLockGil:
      return {"move the other threads' Python work away",
              "Check first which other thread runs Python meanwhile; move its work into a process "
              "of its own."};
    case Cause::kLockKernel:
      return {"see what its holder does in the kernel",
              "Check first what the holder does in the kernel meanwhile, and whether both need the "
              "same file or memory map."};
    case Cause::kIpcWorker:
      return {"record that process as well (-p)",
              "Check first what that process does: give it to whystall as well (-p)."};
    case Cause::kIpcPipe:
      return {
          "see whether the other end reads and writes",
          "Check first whether the process at the other end of the pipe reads and writes, or is "
          "stuck itself."};
    case Cause::kIpcChild:
      return {"see whether the child process is needed there",
              "Check first whether the child process must be waited for between launches, or "
              "started each time."};
    case Cause::kNetRemote:
      return {
          "ask the peer ahead of time, or in parallel",
          "Check first how long the peer takes to answer; ask it ahead of time, in parallel, or "
          "keep its answers."};
    case Cause::kWaitSleep:
      return {"see whether this sleep is needed",
              "Check first why the program sleeps: waiting for an event returns as soon as it is "
              "there."};
    case Cause::kWaitPolling:
      return {"see what is polled for: that is late",
              "Check first what this thread polls for: that is what is late."};
    case Cause::kGpuLaunch:
      return {"launch less: CUDA graphs, larger batches",
              "Check first how many launches a step makes: CUDA graphs, fused kernels and larger "
              "batches need fewer."};
    case Cause::kGpuSync:
      return {"synchronise less often (.item(), print)",
              "Check first what synchronises (.item(), printing a value, a copy to the host), and "
              "launch ahead of it."};
    case Cause::kGpuTransfer:
      return {"pin the memory, copy on a stream of its own",
              "Check first whether the memory is pinned (pin_memory) and whether the copy can run "
              "ahead on a stream of its own."};
    case Cause::kGpuAlloc:
      return {"keep device and pinned memory for reuse",
              "Check first what allocates or frees between launches: use the caching allocator, or "
              "keep the buffers."};
    case Cause::kGpuDriver:
      return {"see who else uses the driver meanwhile",
              "Check first which other processes use the driver at the same time, and whether "
              "memory is registered or mapped between launches."};
    case Cause::kWaitIdle:
    case Cause::kObserver:
    case Cause::kUnknown:
      break;
  }
  return {};
}

}  // namespace

std::optional<NextStep> next_step(const model::Diagnosis& diagnosis, const Finding& finding) {
  const DurationNs stalled = diagnosis.stalled_ns();
  const bool sure = finding.confidence <= Confidence::kLikely;
  if (stalled <= 0 || !sure || sure_ns(finding) < stalled / 20) return std::nullopt;
  NextStep step = advice_for(finding);
  if (step.brief.empty()) return std::nullopt;
  return step;
}

}  // namespace whystall::advice
