// SPDX-License-Identifier: Apache-2.0
#include "capture/session.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "capture/driver_api.h"
#include "capture/journals.h"
#include "capture/preflight.h"
#include "recording/writer.h"
#include "target/exports.h"
#include "target/process.h"

namespace whystall::capture {

namespace {

using nlohmann::json;

/// How often the ring is emptied: at the design rate (50,000 records of 140 bytes a second) it
/// fills by 2 % of its 8 MiB meanwhile.
constexpr int kDrainMs = 20;
constexpr DurationNs kFlushEvery = kSecond;
/// Looking through all open files of a host with 3,000 processes takes some 20 ms.
constexpr DurationNs kEndsEvery = 10 * kSecond;
constexpr int kMaxHops = 8;

std::string dump_strict(const json& value) {
  // Names in the kernel are bytes; what is not UTF-8 is replaced.
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

struct Target {
  target::Process process;
  Fd pidfd;
};

Result<std::vector<Target>> open_targets(const std::vector<pid_t>& pids) {
  std::vector<Target> targets;
  for (const pid_t pid : pids) {
    auto process = target::look_up(pid);
    if (!process) return process.error();
    Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd.valid())
      return Error{ErrorCode::kTargetGone, "process " + std::to_string(pid) + " has just ended"};
    targets.push_back({std::move(*process), std::move(pidfd)});
  }
  return targets;
}

bool all_ended(const std::vector<Target>& targets, int timeout_ms) {
  std::vector<pollfd> fds;
  for (const Target& t : targets) fds.push_back({t.pidfd.get(), POLLIN, 0});
  poll(fds.data(), fds.size(), 0);
  const bool ended =
      std::all_of(fds.begin(), fds.end(), [](const pollfd& f) { return f.revents != 0; });
  if (ended || timeout_ms == 0) return ended;
  // Only the ones that live are waited for, or the end of one would turn this into a spin.
  std::erase_if(fds, [](const pollfd& f) { return f.revents != 0; });
  poll(fds.data(), fds.size(), timeout_ms);
  return false;
}

/// Whatever failed while a target ended failed because of that.
Error unless_gone(Error error, const std::vector<Target>& targets) {
  if (!all_ended(targets, 0)) return error;
  return {ErrorCode::kTargetGone, "process " + std::to_string(targets.front().process.pid) +
                                      " ended before anything was recorded"};
}

Result<target::MappedLibrary> driver_library_of(const std::vector<pid_t>& pids) {
  for (const pid_t root : pids) {
    for (const pid_t pid : target::with_descendants(root)) {
      if (auto library = target::find_driver_library(pid)) return *library;
    }
  }
  return Error{ErrorCode::kCannotTrace, "process " + std::to_string(pids.front()) +
                                            " and its children have not loaded an accelerator's "
                                            "driver (libcuda.so.1), so there is no stall to "
                                            "explain; give the process that uses the device"};
}

json start_meta(const std::vector<Target>& targets, const target::MappedLibrary& library,
                const std::vector<ApiProbe>& probes, bool api_complete) {
  utsname host{};
  uname(&host);
  json processes = json::array();
  for (const Target& t : targets) {
    processes.push_back(
        {{"pid", t.process.pid}, {"comm", t.process.comm}, {"command", t.process.command_line}});
  }
  json symbols = json::array();
  for (const ApiProbe& probe : probes) symbols.push_back(probe.symbol);
  return {{"whystall", WHYSTALL_VERSION},
          {"kernel", host.release},
          {"host", host.nodename},
          {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
          {"profile", "lean"},
          {"clock", "api"},
          {"whystall_pid", getpid()},
          {"targets", processes},
          {"driver_library", library.shown_path},
          {"api_symbols", symbols},
          {"api_complete", api_complete}};
}

enum class StopReason { kDuration, kSignal, kTargetGone };

const char* reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kDuration:
      return "duration";
    case StopReason::kSignal:
      return "signal";
    case StopReason::kTargetGone:
      return "target ended";
  }
  return "";
}

}  // namespace

Result<Kernel> record_session(const SessionOptions& options, const std::atomic<bool>& stop,
                              const std::function<void(double)>& progress) {
  if (auto status = check_host(); !status) return status.error();
  auto targets = open_targets(options.pids);
  if (!targets) return targets.error();
  auto library = driver_library_of(options.pids);
  if (!library) return unless_gone(library.error(), *targets);
  auto exports = target::exported_functions(library->open_path);
  if (!exports) return unless_gone(exports.error(), *targets);
  const auto probes = plan_api_probes(*exports);
  if (probes.empty()) {
    return Error{ErrorCode::kCannotTrace,
                 library->shown_path + " exports none of the driver calls that are watched"};
  }

  auto kernel = Kernel::load(options.pids);
  if (!kernel) return kernel.error();
  if (auto status = kernel->attach_api(library->open_path, probes); !status) {
    return unless_gone(status.error(), *targets);
  }
  // Last, so that what could not be traced leaves no empty file behind.
  auto writer = recording::Writer::create(options.output);
  if (!writer) return writer.error();
  if (auto status = writer->add_meta(
          dump_strict(start_meta(*targets, *library, probes, kernel->api_complete())));
      !status) {
    return status.error();
  }

  const TimeNs start = monotonic_now();
  const TimeNs wall = realtime_now();
  if (auto status = writer->add_meta(dump_strict({{"start_ns", start}, {"wall_start_ns", wall}}));
      !status) {
    return status.error();
  }
  std::optional<Error> write_error;
  JournalRequests journals;
  const std::function<void(std::span<const std::byte>)> take =
      [&](std::span<const std::byte> record) {
        journals.see(record);
        if (write_error) return;
        if (auto status = writer->add_record(record); !status) write_error = status.error();
      };

  // Hop by hop: each journal may name the next waker.
  auto follow_journals = [&]() -> Status {
    for (int hop = 0; hop < kMaxHops; hop++) {
      const auto tids = journals.take();
      if (tids.empty()) break;
      if (auto status = kernel->dump_journals(tids); !status) return status.error();
      kernel->consume(take);
    }
    return Nothing{};
  };
  auto show_now = [&]() -> Status {
    if (auto status = kernel->dump_open_waits(); !status) return status.error();
    kernel->consume(take);
    return follow_journals();
  };

  TimeNs next_flush = start + kFlushEvery;
  TimeNs next_ends = start + kEndsEvery;
  StopReason reason{};
  for (;;) {
    const bool ended = all_ended(*targets, kDrainMs);
    kernel->consume(take);
    const TimeNs now = monotonic_now();
    if (stop.load())
      reason = StopReason::kSignal;
    else if (ended)
      reason = StopReason::kTargetGone;
    else if (options.duration && now - start >= *options.duration)
      reason = StopReason::kDuration;
    else if (write_error)
      break;
    else {
      if (now >= next_flush) {
        next_flush += kFlushEvery;
        progress(static_cast<double>(now - start) / 1e9);
        // A file that is cut here shows a hang, too.
        if (auto status = show_now(); !status) return status.error();
        if (now >= next_ends) {
          next_ends += kEndsEvery;
          if (auto status = kernel->dump_ends(); !status) return status.error();
        }
        if (auto status = writer->flush(); !status) write_error = status.error();
      }
      continue;
    }
    break;
  }

  const TimeNs end = monotonic_now();
  if (auto status = show_now(); !status) return status.error();
  if (auto status = kernel->dump_ends(); !status) return status.error();
  kernel->consume(take);
  for (const wst_loss& loss : kernel->losses()) take(std::as_bytes(std::span(&loss, 1)));
  kernel->detach();
  if (!write_error) {
    const json meta = {{"end_ns", end}, {"stopped_by", reason_name(reason)}};
    if (auto status = writer->add_meta(dump_strict(meta)); !status) write_error = status.error();
  }
  if (write_error) return *write_error;
  return std::move(*kernel);
}

}  // namespace whystall::capture
