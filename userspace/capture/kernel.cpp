// SPDX-License-Identifier: Apache-2.0
#include "capture/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/time.h"
#include "whystall.skel.h"

namespace whystall::capture {

namespace {

int log_libbpf(libbpf_print_level level, const char* format, va_list arguments) {
  char text[2048];
  std::vsnprintf(text, sizeof text, format, arguments);
  if (std::size_t n = std::strlen(text); n > 0 && text[n - 1] == '\n') text[n - 1] = 0;
  if (level != LIBBPF_DEBUG) spdlog::debug("libbpf: {}", text);
  return 0;
}

Error cannot(const char* what, int error) {
  return {ErrorCode::kCannotTrace, std::string("the kernel refused to ") + what + ": " +
                                       std::strerror(error < 0 ? -error : error) +
                                       " (--verbose shows its reason)"};
}

Status run_iterator(bpf_program* program) {
  std::unique_ptr<bpf_link, int (*)(bpf_link*)> link(bpf_program__attach_iter(program, nullptr),
                                                     bpf_link__destroy);
  if (!link) return cannot("list its tasks", errno);
  const Fd fd(bpf_iter_create(bpf_link__fd(link.get())));
  if (!fd.valid()) return cannot("list its tasks", errno);
  char unused[64];
  for (;;) {
    const ssize_t n = read(fd.get(), unused, sizeof unused);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return cannot("list its tasks", errno);
    if (n == 0) return Nothing{};
  }
}

using Take = std::function<void(std::span<const std::byte>)>;

int take_record(void* context, void* data, std::size_t bytes) {
  (**static_cast<const Take**>(context))({static_cast<const std::byte*>(data), bytes});
  return 0;
}

/// Samples a second on each CPU: not a divisor of the tick, so that both do not march in step.
constexpr std::uint64_t kSamplesPerSecond = 99;

Fd open_cpu_clock(int cpu) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.freq = 1;
  attr.sample_freq = kSamplesPerSecond;
  return Fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

void destroy_links(std::vector<bpf_link*>& links) {
  for (bpf_link* link : links) bpf_link__destroy(link);
  links.clear();
}

std::vector<bpf_program*> programs_of(const bpf_object* object, Source source) {
  std::vector<bpf_program*> programs;
  for (const char* name : facts_of(source).programs) {
    if (bpf_program* program = bpf_object__find_program_by_name(object, name))
      programs.push_back(program);
  }
  return programs;
}

/// Which source has a program that the kernel refused; the programs before it were loaded.
std::optional<Source> refused_source(const bpf_object* object, const SourceReports& reports) {
  for (std::size_t i = 0; i < kSources; i++) {
    if (reports[i].state == SourceState::kMissing) continue;
    for (const bpf_program* program : programs_of(object, static_cast<Source>(i))) {
      if (bpf_program__fd(program) < 0) return static_cast<Source>(i);
    }
  }
  return std::nullopt;
}

}  // namespace

struct Kernel::State {
  whystall_bpf* skeleton = nullptr;
  ring_buffer* ring = nullptr;
  const Take* take = nullptr;
  bool multi = false;
  std::vector<bpf_link*> links;
  std::vector<bpf_link*> sample_links;
  std::vector<ApiProbes> api;
  SourceReports sources;

  ApiPrograms api_programs() const {
    return {skeleton->progs.wst_api_submit, skeleton->progs.wst_api_sync,
            skeleton->progs.wst_api_sync_return, skeleton->progs.wst_api_query,
            skeleton->progs.wst_api_query_return};
  }

  SourceReport& report(Source source) { return sources[static_cast<std::size_t>(source)]; }
  bool missing(Source source) { return report(source).state == SourceState::kMissing; }

  Status load();
  Status attach_source(Source source);
  std::vector<wst_loss> losses_of(__u32 epoch) const;
  void attach_samples();

  Status attach(bpf_program* program) {
    bpf_link* link = bpf_program__attach(program);
    if (!link) return cannot("attach a probe", errno);
    links.push_back(link);
    return Nothing{};
  }

  void detach() {
    destroy_links(links);
    destroy_links(sample_links);
  }

  ~State() {
    detach();
    ring_buffer__free(ring);
    whystall_bpf__destroy(skeleton);
  }
};

/// What the kernel refuses is left out, if the rest is of use without it, and the load tried again.
Status Kernel::State::load() {
  multi = kernel_has_multi_uprobes();
  if (libbpf_find_vmlinux_btf_id("mm_filemap_fault", BPF_TRACE_RAW_TP) < 0)
    report(Source::kPageFaults) = {SourceState::kMissing, "this kernel has no event for them",
                                   "kernel 6.10 or later"};
  for (;;) {
    skeleton = whystall_bpf__open();
    if (!skeleton) return cannot("open the programs", errno);
    skeleton->rodata->cfg_self_tgid = static_cast<__u32>(getpid());
    for (std::size_t i = 0; i < kSources; i++) {
      if (sources[i].state != SourceState::kMissing) continue;
      for (bpf_program* program : programs_of(skeleton->obj, static_cast<Source>(i)))
        bpf_program__set_autoload(program, false);
    }
    prepare_api_programs(api_programs(), multi);
    const int error = whystall_bpf__load(skeleton);
    if (!error) return Nothing{};
    const auto refused = refused_source(skeleton->obj, sources);
    if (!refused || facts_of(*refused).required) return cannot("load the programs", error);
    report(*refused) = {SourceState::kMissing, "the kernel refused its program", ""};
    whystall_bpf__destroy(skeleton);
    skeleton = nullptr;
  }
}

/// Programs that are attached by tracepoint; iterators are run when they are wanted.
Status Kernel::State::attach_source(Source source) {
  for (bpf_program* program : programs_of(skeleton->obj, source)) {
    if (!std::string_view(bpf_program__section_name(program)).starts_with("tp_btf/") ||
        program == skeleton->progs.wst_newtask)
      continue;
    if (auto status = attach(program); !status) return status.error();
  }
  return Nothing{};
}

void Kernel::State::attach_samples() {
  if (missing(Source::kSamples)) return;
  const int cpus = libbpf_num_possible_cpus();
  int attached = 0, error = 0;
  for (int cpu = 0; cpu < cpus; cpu++) {
    Fd clock = open_cpu_clock(cpu);
    if (!clock.valid()) {
      if (errno != ENODEV) error = errno;  // ENODEV: that CPU is off line
      continue;
    }
    bpf_link* link = bpf_program__attach_perf_event(skeleton->progs.wst_on_cpu, clock.get());
    if (!link) {
      error = errno;
      continue;
    }
    clock.release();  // the link's now
    sample_links.push_back(link);
    attached++;
  }
  if (error == 0) return;
  report(Source::kSamples) = {attached ? SourceState::kDegraded : SourceState::kMissing,
                              std::string("the kernel's CPU clock: ") + std::strerror(error), ""};
}

Kernel::Kernel(std::unique_ptr<State> state) : state_(std::move(state)) {}
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;

Result<Kernel> Kernel::load(const std::vector<pid_t>& pids) {
  libbpf_set_print(log_libbpf);
  Kernel kernel(std::make_unique<State>());
  State& state = *kernel.state_;
  if (auto status = state.load(); !status) return status.error();
  state.ring = ring_buffer__new(bpf_map__fd(state.skeleton->maps.records), take_record, &state.take,
                                nullptr);
  if (!state.ring) return cannot("map the ring buffer", errno);

  // New tasks get their storage first, then all that exist; only then do the hooks look it up.
  if (auto status = state.attach(state.skeleton->progs.wst_newtask); !status) return status.error();
  if (auto status = kernel.add_targets(pids); !status) return status.error();
  return kernel;
}

Status Kernel::attach() {
  State& state = *state_;
  // Contexts before wakers: a wake-up whose context is not known would be blamed on a task.
  for (const Source source : {Source::kWakeContext, Source::kWaits}) {
    if (auto status = state.attach_source(source); !status) return status.error();
  }
  if (!state.missing(Source::kPageFaults)) {
    if (auto status = state.attach_source(Source::kPageFaults); !status) return status.error();
  }
  if (auto status = run_iterator(state.skeleton->progs.wst_settle); !status) return status.error();
  state.attach_samples();
  return Nothing{};
}

Status Kernel::add_targets(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    const __u32 key = static_cast<__u32>(pid);
    const __u8 one = 1;
    if (bpf_map_update_elem(bpf_map__fd(state_->skeleton->maps.targets), &key, &one, BPF_ANY)) {
      return cannot("note the target", errno);
    }
  }
  return adopt();
}

Status Kernel::adopt() {
  return run_iterator(state_->skeleton->progs.wst_adopt);
}

Status Kernel::attach_api(const std::string& path, const std::vector<ApiProbe>& probes,
                          std::size_t first_symbol) {
  if (state_->missing(Source::kDriverCalls)) return cannot("probe the driver library", ENOTSUP);
  auto attached =
      ApiProbes::attach(state_->api_programs(), path, probes, first_symbol, state_->multi);
  if (!attached) return attached.error();
  state_->api.push_back(std::move(*attached));
  if (!api_complete()) {
    state_->report(Source::kDriverCalls) = {
        SourceState::kDegraded, "this kernel allows 30 probes, and the driver has more calls",
        "kernel 6.6 or later"};
  }
  return Nothing{};
}

bool Kernel::multi_probes() const {
  return state_->multi;
}

bool Kernel::api_complete() const {
  return std::all_of(state_->api.begin(), state_->api.end(),
                     [](const ApiProbes& probes) { return probes.complete(); });
}

const SourceReports& Kernel::sources() const {
  return state_->sources;
}

int Kernel::consume(const Take& take) {
  state_->take = &take;
  return ring_buffer__consume(state_->ring);
}

Status Kernel::dump_open_waits() {
  return run_iterator(state_->skeleton->progs.wst_dump);
}

Status Kernel::dump_journals(const std::vector<std::uint32_t>& tids) {
  const int named = bpf_map__fd(state_->skeleton->maps.named_tasks);
  for (const __u32 tid : tids) {
    const __u8 not_yet = 0;
    // A full map: these chains end one hop earlier.
    if (bpf_map_update_elem(named, &tid, &not_yet, BPF_NOEXIST)) break;
  }
  return run_iterator(state_->skeleton->progs.wst_journals);
}

Status Kernel::dump_ends() {
  if (state_->missing(Source::kEnds)) return Nothing{};
  return run_iterator(state_->skeleton->progs.wst_ends);
}

void Kernel::detach() {
  state_->detach();
}

void Kernel::shed(Source source, const std::string& why) {
  state_->report(source) = {SourceState::kMissing, why, "a larger --budget"};
  if (source == Source::kDriverCalls)
    state_->api.clear();
  else if (source == Source::kDriverQueries)
    for (ApiProbes& probes : state_->api) probes.detach_queries();
  else if (source == Source::kSamples)
    destroy_links(state_->sample_links);
}

ProgramCosts Kernel::costs() const {
  ProgramCosts costs{};
  for (std::size_t i = 0; i < kSources; i++) {
    for (const bpf_program* program : programs_of(state_->skeleton->obj, static_cast<Source>(i))) {
      if (bpf_program__fd(program) < 0) continue;
      bpf_prog_info info{};
      __u32 size = sizeof info;
      if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size)) continue;
      costs[i].runs += info.run_cnt;
      costs[i].run_ns += info.run_time_ns;
    }
  }
  return costs;
}

std::vector<wst_loss> Kernel::State::losses_of(__u32 epoch) const {
  struct Slot {
    __u64 count, first_ns, last_ns, epoch;
  };
  const __u32 epochs = bpf_map__max_entries(skeleton->maps.losses) / WST_LOSS_CLASSES;
  std::vector<wst_loss> found;
  std::vector<Slot> slots(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  for (__u32 loss_class = 0; loss_class < WST_LOSS_CLASSES; loss_class++) {
    const __u32 at = loss_class * epochs + epoch % epochs;
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.losses), &at, slots.data())) continue;
    for (std::size_t cpu = 0; cpu < slots.size(); cpu++) {
      if (slots[cpu].count == 0 || slots[cpu].epoch != epoch) continue;
      wst_loss loss{};
      loss.h = {sizeof loss, WST_LOSS, 0, static_cast<__u32>(cpu),
                static_cast<__u64>(monotonic_now())};
      loss.first_ns = slots[cpu].first_ns;
      loss.last_ns = slots[cpu].last_ns;
      loss.count = slots[cpu].count;
      loss.loss_class = loss_class;
      found.push_back(loss);
    }
  }
  return found;
}

std::vector<wst_loss> Kernel::take_losses() {
  const __u32 epoch = state_->skeleton->data->loss_epoch++;
  return state_->losses_of(epoch - 1);
}

std::vector<wst_loss> Kernel::take_last_losses() {
  auto found = take_losses();
  const auto last = take_losses();
  found.insert(found.end(), last.begin(), last.end());
  return found;
}

bool Kernel::misses_tasks() const {
  const auto now = state_->losses_of(state_->skeleton->data->loss_epoch);
  return std::any_of(now.begin(), now.end(),
                     [](const wst_loss& loss) { return loss.loss_class == WST_LOST_STORAGE; });
}

}  // namespace whystall::capture
