// SPDX-License-Identifier: Apache-2.0
#include "capture/api_probes.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace whystall::capture {

namespace {

// Of kernel 6.6 (89ae89f53d20), newer than the headers of Debian 12.
constexpr int kUprobeMulti = 48;
constexpr std::uint32_t kMultiReturn = 1;
struct MultiAttr {
  std::uint32_t prog_fd;
  std::uint32_t target_fd;
  std::uint32_t attach_type;
  std::uint32_t flags;
  std::uint64_t path;
  std::uint64_t offsets;
  std::uint64_t ref_ctr_offsets;
  std::uint64_t cookies;
  std::uint32_t count;
  std::uint32_t multi_flags;
  std::uint32_t pid;
  std::uint32_t reserved;
};

/// Classic probes cost 60 to 110 ms each to detach; the bound keeps that within some 3 s.
constexpr std::size_t kMaxClassic = 30;

std::uint64_t cookie_of(const ApiProbe& probe, std::size_t symbol) {
  return WST_COOKIE(probe.call, probe.stream_arg, probe.event_arg, probe.bytes_arg,
                    probe.per_thread, symbol);
}

Error cannot_attach(const std::string& path, int error) {
  return {ErrorCode::kCannotTrace, "cannot probe " + path + ": " + std::strerror(error)};
}

struct Place {
  std::vector<std::uint64_t> offsets, cookies;
};

Result<Fd> link_multi(bpf_program* program, const std::string& path, const Place& place,
                      std::uint32_t flags) {
  MultiAttr attr{};
  attr.prog_fd = static_cast<std::uint32_t>(bpf_program__fd(program));
  attr.attach_type = kUprobeMulti;
  attr.path = reinterpret_cast<std::uint64_t>(path.c_str());
  attr.offsets = reinterpret_cast<std::uint64_t>(place.offsets.data());
  attr.cookies = reinterpret_cast<std::uint64_t>(place.cookies.data());
  attr.count = static_cast<std::uint32_t>(place.offsets.size());
  attr.multi_flags = flags;
  const long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr);
  if (fd < 0) return cannot_attach(path, errno);
  return Fd(static_cast<int>(fd));
}

}  // namespace

bool kernel_has_multi_uprobes() {
  btf* types = btf__load_vmlinux_btf();
  if (libbpf_get_error(types)) return false;
  bool found = false;
  const int id = btf__find_by_name_kind(types, "bpf_attach_type", BTF_KIND_ENUM);
  const btf_type* type = id > 0 ? btf__type_by_id(types, static_cast<__u32>(id)) : nullptr;
  for (int i = 0; type && i < btf_vlen(type); i++) {
    const struct btf_enum& value = btf_enum(type)[i];
    const char* name = btf__name_by_offset(types, value.name_off);
    if (name && std::strcmp(name, "BPF_TRACE_UPROBE_MULTI") == 0) found = value.val == kUprobeMulti;
  }
  btf__free(types);
  return found;
}

void prepare_api_programs(const ApiPrograms& programs, bool multi) {
  if (!multi) return;
  for (bpf_program* program : {programs.submit, programs.sync, programs.sync_return, programs.query,
                               programs.query_return}) {
    bpf_program__set_expected_attach_type(program, static_cast<bpf_attach_type>(kUprobeMulti));
  }
}

ApiProbes& ApiProbes::operator=(ApiProbes&& other) noexcept {
  std::swap(links_, other.links_);
  std::swap(query_links_, other.query_links_);
  std::swap(multi_links_, other.multi_links_);
  std::swap(multi_query_links_, other.multi_query_links_);
  std::swap(complete_, other.complete_);
  return *this;
}

ApiProbes::~ApiProbes() {
  for (bpf_link* link : links_) bpf_link__destroy(link);
  for (bpf_link* link : query_links_) bpf_link__destroy(link);
}

void ApiProbes::detach_queries() {
  for (bpf_link* link : query_links_) bpf_link__destroy(link);
  query_links_.clear();
  multi_query_links_.clear();
}

Result<ApiProbes> ApiProbes::attach(const ApiPrograms& programs, const std::string& path,
                                    const std::vector<ApiProbe>& probes, std::size_t first_symbol,
                                    bool multi) {
  ApiProbes attached;
  if (multi) {
    Place submits, syncs, queries;
    for (std::size_t i = 0; i < probes.size(); i++) {
      const ProbeGroup group = probes[i].group();
      Place& place = group == ProbeGroup::kEntry   ? submits
                     : group == ProbeGroup::kTimed ? syncs
                                                   : queries;
      place.offsets.push_back(probes[i].probe_offset);
      place.cookies.push_back(cookie_of(probes[i], first_symbol + i));
    }
    // Entries before returns would keep a call for a later call's return; and what only submits
    // comes first: a proof while submits are not seen would be none.
    struct Step {
      bpf_program* program;
      const Place& place;
      std::uint32_t flags;
      std::vector<Fd>& links;
    };
    const Step steps[] = {
        {programs.submit, submits, 0, attached.multi_links_},
        {programs.sync_return, syncs, kMultiReturn, attached.multi_links_},
        {programs.sync, syncs, 0, attached.multi_links_},
        {programs.query_return, queries, kMultiReturn, attached.multi_query_links_},
        {programs.query, queries, 0, attached.multi_query_links_},
    };
    for (const Step& step : steps) {
      if (step.place.offsets.empty()) continue;
      auto link = link_multi(step.program, path, step.place, step.flags);
      if (!link) return link.error();
      step.links.push_back(std::move(*link));
    }
    return attached;
  }
  auto attach_one = [&](bpf_program* program, const ApiProbe& probe, std::size_t symbol,
                        bool at_return, std::vector<bpf_link*>& links) {
    LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie_of(probe, symbol),
                .retprobe = at_return);
    bpf_link* link =
        bpf_program__attach_uprobe_opts(program, -1, path.c_str(), probe.probe_offset, &options);
    if (!link) return errno;
    links.push_back(link);
    return 0;
  };
  std::size_t left = kMaxClassic;
  for (std::size_t i = 0; i < probes.size(); i++) {
    const ProbeGroup group = probes[i].group();
    const std::size_t needed = group == ProbeGroup::kEntry ? 1 : 2;
    if (needed > left) {
      attached.complete_ = false;
      break;
    }
    left -= needed;
    const bool query = group == ProbeGroup::kQuery;
    auto& links = query ? attached.query_links_ : attached.links_;
    int error = 0;
    if (group == ProbeGroup::kEntry) {
      error = attach_one(programs.submit, probes[i], first_symbol + i, false, links);
    } else {
      error = attach_one(query ? programs.query_return : programs.sync_return, probes[i],
                         first_symbol + i, true, links);
      if (!error)
        error = attach_one(query ? programs.query : programs.sync, probes[i], first_symbol + i,
                           false, links);
    }
    if (error) return cannot_attach(path, error);
  }
  return attached;
}

}  // namespace whystall::capture
