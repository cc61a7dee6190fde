// SPDX-License-Identifier: Apache-2.0
#include "advice/advice.h"

namespace whystall::advice {

using model::Cause;

std::string_view meaning(Cause cause) {
  switch (cause) {
    case Cause::kStorageRead:
      return "A read() that the launch depended on waited for its file: the data was not in "
             "memory.";
    case Cause::kStorageFault:
      return "A page of a mapped file that was touched was not in memory and had to be read.";
    case Cause::kStorageMetadata:
      return "Opening, looking up or listing files took the time, not reading them.";
    case Cause::kStorageWrite:
      return "A write or an fsync waited until its file had taken the data.";
    case Cause::kMemoryFault:
      return "Memory that was touched for the first time, or shared before, had to be set up by "
             "the "
             "kernel; nothing was read from a disk.";
    case Cause::kCpuContention:
      return "A thread that the launch depended on was ready to run, while others ran on its CPU.";
    case Cause::kCpuOversubscription:
      return "A thread that the launch depended on was ready to run, while threads of its own "
             "program had the CPU.";
    case Cause::kCpuThrottled:
      return "The CPU limit of its control group (quota) held a thread back that was ready to run.";
    case Cause::kCpuStopped:
      return "A thread that the launch depended on was stopped, frozen or traced until somebody "
             "let "
             "it go on.";
    case Cause::kCpuWakeup:
      return "A thread was woken on an idle CPU and took long to begin to run there.";
    case Cause::kCpuWaiting:
      return "A thread was ready to run and did not; nobody was seen to run on its CPU instead.";
    case Cause::kCpuBusy:
      return "The program itself computed on the CPU before it gave the device its next work.";
    case Cause::kLockUser:
      return "A thread waited for a lock of its program, whose holder computed or slept meanwhile.";
    case Cause::kLockGil:
      return "A thread waited for Python's interpreter lock (GIL), which another thread held.";
    case Cause::kLockKernel:
      return "A thread waited inside the kernel for a lock that another thread held.";
    case Cause::kIpcWorker:
      return "A thread waited for another process of this host; what held that one up is not "
             "recorded.";
    case Cause::kIpcPipe:
      return "A thread waited for the other end of a pipe: for data in it, or for room.";
    case Cause::kIpcChild:
      return "A thread waited for a child process to end.";
    case Cause::kNetRemote:
      return "A thread waited for a peer outside of this host.";
    case Cause::kWaitSleep:
      return "The program itself asked to sleep for that long.";
    case Cause::kWaitIdle:
      return "There was no request to work on: nobody waited for the device.";
    case Cause::kWaitPolling:
      return "A thread asked again and again whether something was ready, without any work.";
    case Cause::kGpuLaunch:
      return "The gaps between launches that follow each other at once: the cost of launching.";
    case Cause::kGpuSync:
      return "The thread was inside a driver call that waits for the device.";
    case Cause::kGpuTransfer:
      return "The thread was inside a driver call that copies to or from the device.";
    case Cause::kGpuAlloc:
      return "The thread was inside a driver call that gives or takes memory.";
    case Cause::kGpuDriver:
      return "The thread was inside the driver's part of the kernel (an ioctl).";
    case Cause::kObserver:
      return "whystall itself had the CPU.";
    case Cause::kUnknown:
      return "What held the launch up could not be found; the reasons are below.";
  }
  return "";
}

}  // namespace whystall::advice
