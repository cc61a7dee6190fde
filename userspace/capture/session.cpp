// SPDX-License-Identifier: Apache-2.0
#include "capture/session.h"

#include <spdlog/spdlog.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "capture/budget.h"
#include "capture/driver_watch.h"
#include "capture/journals.h"
#include "capture/nvml_sampler.h"
#include "capture/preflight.h"
#include "recording/writer.h"
#include "target/mappings.h"

namespace whystall::capture {

namespace {

using nlohmann::json;

/// How often the ring is emptied: at the design rate (50,000 records of 180 bytes a second) it
/// fills by 2 % of its 8 MiB meanwhile.
constexpr int kDrainMs = 20;
constexpr DurationNs kFlushEvery = kSecond;
/// Looking through all open files of a host with 3,000 processes takes some 20 ms.
constexpr DurationNs kEndsEvery = 10 * kSecond;
constexpr int kMaxHops = 8;
/// For the helper that reads NVML to end by itself.
constexpr int kNvmlEndMs = 100;
/// Of a target's command line, which can have megabytes: readers bound what META may take.
constexpr std::size_t kMaxCommandBytes = 16u << 10;

std::string dump_strict(const json& value) {
  // Names in the kernel are bytes; what is not UTF-8 is replaced.
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json describe(const std::vector<target::Process>& processes) {
  json list = json::array();
  for (const target::Process& p : processes) {
    list.push_back({{"pid", p.pid},
                    {"comm", p.comm},
                    {"command", p.command_line.substr(0, kMaxCommandBytes)}});
  }
  return list;
}

/// From when to when a source was attached, and whether its programs were seen to run meanwhile:
/// only what watched for the whole time can clear anything.
struct SourceLife {
  TimeNs from_ns = 0;   // 0: never
  TimeNs until_ns = 0;  // 0: to the end
  bool tested = false;
};
using SourceLives = std::array<SourceLife, kSources>;

json describe(const SourceReports& reports, const SourceLives& lives) {
  json list = json::array();
  for (std::size_t i = 0; i < kSources; i++) {
    list.push_back({{"name", facts_of(static_cast<Source>(i)).name},
                    {"state", state_name(reports[i].state)},
                    {"why", reports[i].why},
                    {"from_ns", lives[i].from_ns},
                    {"until_ns", lives[i].until_ns},
                    {"tested", lives[i].tested}});
  }
  return list;
}

enum class StopReason { kDuration, kSignal, kTargetGone, kCannotWrite, kBudget };

const char* reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kDuration:
      return "duration";
    case StopReason::kSignal:
      return "signal";
    case StopReason::kTargetGone:
      return "target ended";
    case StopReason::kCannotWrite:
      return "the recording could not be written";
    case StopReason::kBudget:
      return "budget";
  }
  return "";
}

/// One recording from its first to its last record.
class Session {
 public:
  Session(const SessionOptions& options, const std::atomic<bool>& stop,
          const std::function<void(double)>& progress, TargetSet targets, DriverWatch driver,
          recording::Writer writer, Kernel kernel)
      : options_(options),
        stop_(stop),
        progress_(progress),
        targets_(std::move(targets)),
        driver_(std::move(driver)),
        writer_(std::move(writer)),
        kernel_(std::move(kernel)) {}

  Result<SessionResult> run() {
    const auto& users = driver_.device_processes();
    nvml_.start(users.empty() ? targets_.first().pid : users.front().pid);
    // Before the scheduler's hooks: on a busy machine a second may pass, in which they fill the
    // ring.
    if (auto status = driver_.attach(kernel_); !status) return unless_gone(status.error());
    if (auto status = kernel_.attach(); !status) return status.error();
    // Before anything is written: whoever sees that the file is filled may count on what follows.
    start_ = monotonic_now();
    lives_.fill({.from_ns = start_});
    note_driver(start_);
    const auto wall_start = realtime_now();
    if (auto status = write_meta(start_meta()); !status) return status.error();
    if (auto status = write_meta({{"start_ns", start_}, {"wall_start_ns", wall_start}}); !status)
      return status.error();
    note_mapped_files();
    if (auto status = writer_.flush(); !status) return status.error();
    if (auto status = options_.attached(); !status) return status.error();

    TimeNs next_second = start_ + kFlushEvery;
    next_ends_ = start_ + kEndsEvery;
    std::optional<StopReason> reason;
    while (!reason) {
      const bool ended = targets_.all_ended(kDrainMs);
      drain();
      nvml_.step();
      const TimeNs now = monotonic_now();
      watch_driver(now);
      watch_cost(now);
      reason = why_stop(now, ended);
      if (reason || now < next_second) continue;
      next_second += kFlushEvery;
      if (auto status = each_second(now); !status) return status.error();
    }
    return end(*reason);
  }

 private:
  Error unless_gone(Error error) {
    if (!targets_.all_ended(0)) return error;
    return {ErrorCode::kTargetGone, "process " + std::to_string(targets_.first().pid) +
                                        " ended before anything was recorded"};
  }

  Status write_meta(const json& meta) { return writer_.add_meta(dump_strict(meta)); }

  /// What comes up while it records; that it cannot be written ends the recording, but not at once.
  void note(const json& meta) {
    if (write_error_) return;
    if (auto status = write_meta(meta); !status) write_error_ = status.error();
  }

  json start_meta() const {
    utsname host{};
    uname(&host);
    json meta = {{"whystall", WHYSTALL_VERSION},
                 {"kernel", host.release},
                 {"host", host.nodename},
                 {"cpus", sysconf(_SC_NPROCESSORS_ONLN)},
                 {"profile", "lean"},
                 {"clock", "api"},
                 {"whystall_pid", getpid()},
                 {"helper_pid", nvml_.pid()}};
    meta.update(targets_meta());
    return meta;
  }

  /// What may change while it runs; a later one replaces an earlier one.
  json targets_meta() const {
    return {{"targets", describe(targets_.processes())},
            {"device_processes", describe_device_processes()},
            {"driver_library", driver_.library()},
            {"api_symbols", driver_.symbols()},
            {"api_complete", kernel_.api_complete()},
            {"sources", describe(kernel_.sources(), lives_)}};
  }

  /// What the targets have mapped, which names the files that were faulted in and the code that
  /// ran. Told at the beginning and at the end; what one tells is added to what the other did.
  void note_mapped_files() {
    constexpr std::size_t kMostProcesses = 64, kMostFiles = 2000;
    std::size_t processes = 0;
    for (const pid_t pid : targets_.pids()) {
      if (processes++ == kMostProcesses) return;
      json list = json::array();
      for (const target::MappedFile& m : target::mapped_files(pid, kMostFiles))
        list.push_back({{"path", m.path},
                        {"ino", m.ino},
                        {"dev", m.dev},
                        {"fs", m.fs_type},
                        {"code", m.code}});
      if (!list.empty()) note({{"mappings", {{"pid", pid}, {"files", list}}}});
    }
  }

  json describe_device_processes() const {
    json list = describe(driver_.device_processes());
    for (std::size_t i = 0; i < list.size(); i++) {
      json code = json::array();
      for (const target::CodeRange& range : driver_.code_in(driver_.device_processes()[i].pid))
        code.push_back({range.lo, range.hi});
      list[i]["driver_code"] = code;
    }
    return list;
  }

  Status add(const std::vector<wst_loss>& losses) {
    Status status = Nothing{};
    for (const wst_loss& loss : losses) {
      if (loss.loss_class != WST_LOST_STORAGE) lost_ += loss.count;
      if (status) status = writer_.add_record(std::as_bytes(std::span(&loss, 1)));
    }
    return status;
  }

  bool refresh_names() {
    const bool targets = targets_.refresh(), driver = driver_.refresh();
    return targets || driver;
  }

  void drain() {
    const std::function<void(std::span<const std::byte>)> take =
        [this](std::span<const std::byte> record) {
          records_++;
          journals_.see(record);
          driver_.see(record);
          if (write_error_) return;
          if (auto status = writer_.add_record(record); !status) write_error_ = status.error();
        };
    kernel_.consume(take);
  }

  std::optional<StopReason> why_stop(TimeNs now, bool ended) const {
    if (stop_.load()) return StopReason::kSignal;
    if (ended) return StopReason::kTargetGone;
    if (options_.duration && now - start_ >= *options_.duration) return StopReason::kDuration;
    if (write_error_) return StopReason::kCannotWrite;
    if (over_budget_) return StopReason::kBudget;
    return std::nullopt;
  }

  /// A library that is loaded late. Until there is one, it is looked for often: what a process does
  /// with its device before it is found goes unseen.
  void watch_driver(TimeNs now) {
    if (now < next_look_) return;
    next_look_ = now + (driver_.device_processes().empty() ? kSecond / 20 : kSecond);
    if (!driver_.look_again()) return;
    // Of a library that cannot be probed nothing is proved; the rest goes on.
    if (auto status = driver_.attach(kernel_); !status) spdlog::warn("{}", status.error().text);
    note_driver(now);
    note(targets_meta());
  }

  SourceLife& life_of(Source source) { return lives_[static_cast<std::size_t>(source)]; }

  /// The driver's calls are watched from when there is one.
  void note_driver(TimeNs now) {
    for (const Source source : {Source::kDriverCalls, Source::kDriverQueries}) {
      TimeNs& from = life_of(source).from_ns;
      if (driver_.device_processes().empty())
        from = 0;
      else if (from == 0)
        from = now;
    }
  }

  /// Each measurement goes into the recording. Over the budget, the dearest source that the rest
  /// can do without goes; when only the scheduler's hooks are left, the recording ends.
  void watch_cost(TimeNs now) {
    const auto cost = meter_.step(kernel_, now);
    if (!cost) return;
    json shares = json::object();
    for (std::size_t i = 0; i < kSources; i++) {
      shares[std::string(facts_of(static_cast<Source>(i)).name)] = cost->share[i];
      lives_[i].tested |= cost->share[i] > 0;
    }
    costs_.push_back({{"at_ns", now}, {"cpu_share", shares}});
    if (!options_.budget || cost->total() <= *options_.budget) return;
    const auto dearest = what_to_shed(*cost);
    if (!dearest) {
      over_budget_ = true;
      spdlog::warn(
          "whystall took {:.2f} % of a CPU, over the budget of {:.2f} %: the recording ends",
          cost->total() * 100, *options_.budget * 100);
      return;
    }
    shed(*dearest, *cost);
  }

  /// Queries first: they only add proofs. Then whichever costs more.
  static std::optional<Source> what_to_shed(const Cost& cost) {
    if (cost.of(Source::kDriverQueries) > 0) return Source::kDriverQueries;
    const Source dearest = cost.of(Source::kDriverCalls) >= cost.of(Source::kSamples)
                               ? Source::kDriverCalls
                               : Source::kSamples;
    if (cost.of(dearest) <= 0) return std::nullopt;
    return dearest;
  }

  void shed(Source source, const Cost& cost) {
    std::string text = format("whystall took %.2f %% of a CPU, over the budget of %.2f %%",
                              cost.total() * 100, *options_.budget * 100);
    if (source != Source::kSamples)
      text += format(", at %.0f driver calls and queries a second", cost.calls_per_second);
    const TimeNs now = monotonic_now();
    kernel_.shed(source, text);
    spdlog::warn("{}: {} are no longer watched", text, facts_of(source).name);
    shed_.push_back({{"source", facts_of(source).name},
                     {"at_ns", now},
                     {"cpu_share", cost.of(source)},
                     {"calls_per_second", cost.calls_per_second}});
    life_of(source).until_ns = now;
    json meta = {{"sources", describe(kernel_.sources(), lives_)}, {"shed", shed_}};
    if (source == Source::kDriverCalls) meta["api_until_ns"] = now;
    note(meta);
    meter_.hurry();
  }

  Status each_second(TimeNs now) {
    progress_(static_cast<double>(now - start_) / 1e9);
    bool changed = refresh_names();
    if (const auto fresh = targets_.find_new(); !fresh.empty()) {
      if (auto status = kernel_.add_targets(fresh); !status) return status.error();
      changed = true;
    }
    if (changed) note(targets_meta());
    if (kernel_.misses_tasks()) {
      if (auto status = kernel_.adopt(); !status) return status.error();
    }
    if (!write_error_) {
      if (auto status = add(kernel_.take_losses()); !status) write_error_ = status.error();
    }
    // A file that is cut here shows a hang, too.
    if (auto status = show_now(); !status) return status.error();
    if (now >= next_ends_) {
      next_ends_ += kEndsEvery;
      if (auto status = kernel_.dump_ends(); !status) return status.error();
      drain();
    }
    note_nvml(now);
    if (write_error_) return Nothing{};
    if (auto status = writer_.flush(); !status) write_error_ = status.error();
    return Nothing{};
  }

  void note_nvml(TimeNs now) {
    if (const json piece = nvml_.facts().take_piece(now); !piece.is_null()) note(piece);
  }

  /// The waits and runs that are not over, and, hop by hop, the past of whoever is named: each
  /// journal may name the next waker.
  Status show_now() {
    if (auto status = kernel_.dump_open_waits(); !status) return status.error();
    drain();
    for (int hop = 0; hop < kMaxHops; hop++) {
      const auto tids = journals_.take();
      if (tids.empty()) break;
      if (auto status = kernel_.dump_journals(tids); !status) return status.error();
      drain();
    }
    return Nothing{};
  }

  /// Writes what ends the recording. If not all could be written, what is in the file still makes a
  /// report: then it ends where its records end.
  Result<SessionResult> end(StopReason reason) {
    TimeNs end = monotonic_now();
    nvml_.step();
    nvml_.ask_to_end();
    if (refresh_names()) note(targets_meta());
    note_mapped_files();
    if (auto status = show_now(); !status) return status.error();
    if (auto status = kernel_.dump_ends(); !status) return status.error();
    drain();
    note_nvml(end);
    if (!write_error_) {
      if (auto status = writer_.flush(); !status) write_error_ = status.error();
    }
    if (write_error_) {
      reason = StopReason::kCannotWrite;
      end = writer_.written_until_ns();
      if (end <= start_) return *write_error_;
    }
    // On a full disk there is room for this: that of the chunk that did not fit and was cut off.
    kernel_.detach();
    Status ending = add(kernel_.take_last_losses());
    if (ending)
      ending = write_meta({{"end_ns", end},
                           {"stopped_by", reason_name(reason)},
                           {"cost", costs_},
                           {"sources", describe(kernel_.sources(), lives_)}});
    if (!ending && !write_error_) write_error_ = ending.error();
    nvml_.end(kNvmlEndMs);
    return SessionResult{
        end - start_,      std::max<DurationNs>(0, writer_.gone_until_ns() - start_),
        write_error_,      !driver_.device_processes().empty(),
        records_,          lost_,
        std::move(kernel_)};
  }

  const SessionOptions& options_;
  const std::atomic<bool>& stop_;
  const std::function<void(double)>& progress_;
  TargetSet targets_;
  DriverWatch driver_;
  recording::Writer writer_;
  Kernel kernel_;
  JournalRequests journals_;
  CostMeter meter_;
  NvmlSampler nvml_;
  SourceLives lives_;
  json costs_ = json::array();
  json shed_ = json::array();
  bool over_budget_ = false;
  std::uint64_t records_ = 0;
  std::uint64_t lost_ = 0;
  std::optional<Error> write_error_;
  TimeNs start_ = 0;
  TimeNs next_ends_ = 0;
  TimeNs next_look_ = 0;
};

}  // namespace

Result<SessionResult> record_session(const SessionOptions& options, const std::atomic<bool>& stop,
                                     const std::function<void(double)>& progress) {
  if (auto status = check_host(); !status) return status.error();
  auto targets = TargetSet::open(options.targets);
  if (!targets) return targets.error();
  DriverWatch driver;
  if (!driver.look_at(targets->pids()) && !options.wait_for_driver) {
    if (targets->all_ended(0)) {
      return Error{ErrorCode::kTargetGone, "process " + std::to_string(targets->first().pid) +
                                               " ended before anything was recorded"};
    }
    return Error{ErrorCode::kCannotTrace,
                 "process " + std::to_string(targets->first().pid) +
                     " and its children have not loaded an accelerator's driver (libcuda.so.1), "
                     "so there is no stall to explain; give the process that uses the device, or "
                     "--wait until it has"};
  }
  // Before anything is attached; if that then fails, the writer leaves no empty file behind.
  auto writer = recording::Writer::create(options.output, options.max_size);
  if (!writer) return writer.error();
  auto kernel = Kernel::load(targets->pids());
  if (!kernel) return kernel.error();
  Session session(options, stop, progress, std::move(*targets), std::move(driver),
                  std::move(*writer), std::move(*kernel));
  return session.run();
}

}  // namespace whystall::capture
