// SPDX-License-Identifier: Apache-2.0
#include "capture/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

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

}  // namespace

struct Kernel::State {
  whystall_bpf* skeleton = nullptr;
  ring_buffer* ring = nullptr;
  const Take* take = nullptr;
  bool multi = false;
  std::vector<bpf_link*> links;
  ApiProbes api;

  ApiPrograms api_programs() const {
    return {skeleton->progs.wst_api_submit, skeleton->progs.wst_api_sync,
            skeleton->progs.wst_api_sync_return};
  }

  Status attach(bpf_program* program) {
    bpf_link* link = bpf_program__attach(program);
    if (!link) return cannot("attach a scheduler probe", errno);
    links.push_back(link);
    return Nothing{};
  }

  void detach() {
    for (bpf_link* link : links) bpf_link__destroy(link);
    links.clear();
    api.detach_multi();
  }

  ~State() {
    detach();
    ring_buffer__free(ring);
    whystall_bpf__destroy(skeleton);
  }
};

Kernel::Kernel(std::unique_ptr<State> state) : state_(std::move(state)) {}
Kernel::Kernel(Kernel&&) noexcept = default;
Kernel& Kernel::operator=(Kernel&&) noexcept = default;
Kernel::~Kernel() = default;

Result<Kernel> Kernel::load(const std::vector<pid_t>& pids) {
  libbpf_set_print(log_libbpf);
  auto state = std::make_unique<State>();
  state->skeleton = whystall_bpf__open();
  if (!state->skeleton) return cannot("open the programs", errno);
  auto& programs = state->skeleton->progs;
  state->skeleton->rodata->cfg_self_tgid = static_cast<__u32>(getpid());
  state->multi = kernel_has_multi_uprobes();
  prepare_api_programs(state->api_programs(), state->multi);
  if (const int error = whystall_bpf__load(state->skeleton))
    return cannot("load the programs", error);

  for (const pid_t pid : pids) {
    const __u32 key = static_cast<__u32>(pid);
    const __u8 one = 1;
    if (bpf_map_update_elem(bpf_map__fd(state->skeleton->maps.targets), &key, &one, BPF_ANY)) {
      return cannot("note the target", errno);
    }
  }
  state->ring = ring_buffer__new(bpf_map__fd(state->skeleton->maps.records), take_record,
                                 &state->take, nullptr);
  if (!state->ring) return cannot("map the ring buffer", errno);

  // New tasks get their storage first, then all that exist; only then do the hooks look it up.
  if (auto status = state->attach(programs.wst_newtask); !status) return status.error();
  if (auto status = run_iterator(programs.wst_adopt); !status) return status.error();
  for (bpf_program* program :
       {programs.wst_irq_handler_entry, programs.wst_irq_handler_exit,
        programs.wst_call_function_single_entry, programs.wst_call_function_single_exit,
        programs.wst_irq_work_entry, programs.wst_irq_work_exit, programs.wst_hrtimer_expire_entry,
        programs.wst_hrtimer_expire_exit, programs.wst_softirq_entry, programs.wst_softirq_exit,
        programs.wst_rename, programs.wst_process_exit, programs.wst_migrate,
        programs.wst_wakeup_new, programs.wst_waking, programs.wst_switch}) {
    if (auto status = state->attach(program); !status) return status.error();
  }
  if (auto status = run_iterator(programs.wst_settle); !status) return status.error();
  return Kernel(std::move(state));
}

Status Kernel::attach_api(const std::string& path, const std::vector<ApiProbe>& probes) {
  auto attached = ApiProbes::attach(state_->api_programs(), path, probes, state_->multi);
  if (!attached) return attached.error();
  state_->api = std::move(*attached);
  return Nothing{};
}

bool Kernel::api_complete() const {
  return state_->api.complete();
}

int Kernel::consume(const Take& take) {
  state_->take = &take;
  return ring_buffer__consume(state_->ring);
}

Status Kernel::dump_open_waits() {
  return run_iterator(state_->skeleton->progs.wst_dump);
}

void Kernel::detach() {
  state_->detach();
}

std::vector<wst_loss> Kernel::losses() const {
  struct Slot {
    __u64 count, first_ns, last_ns;
  };
  std::vector<wst_loss> found;
  std::vector<Slot> slots(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  for (__u32 loss_class = 0; loss_class < WST_LOSS_CLASSES; loss_class++) {
    if (bpf_map_lookup_elem(bpf_map__fd(state_->skeleton->maps.losses), &loss_class, slots.data()))
      continue;
    for (std::size_t cpu = 0; cpu < slots.size(); cpu++) {
      if (slots[cpu].count == 0) continue;
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

}  // namespace whystall::capture
