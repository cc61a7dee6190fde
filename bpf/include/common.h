/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * Settings, maps and per-task state that the programs share. Every object defines them weakly; the
 * linker keeps one.
 */
#ifndef WHYSTALL_BPF_COMMON_H
#define WHYSTALL_BPF_COMMON_H

#include "kernel_types.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "abi/events.h"

#define MAX_CPUS 1024
#define EMIT_ALWAYS (~0ULL)
#define ENOSYS 38

/* Set before the load. */
const volatile __u32 cfg_self_tgid __weak = 0;
const volatile __u64 cfg_recruit_ns __weak = 2000000000ULL;
const volatile __u32 cfg_max_depth __weak = 8;
const volatile __u64 cfg_file_min_ns __weak = 20000;

/*
 * What is kept for each task. Created in process context only (task_newtask and the iterator):
 * creating it inside a scheduler hook froze 6.1. The scheduler hooks look up only.
 */
struct task_ctx {
	__u64 emit_until; /* 0: not of interest, EMIT_ALWAYS: target, else recruited until then */
	__u64 in_ns;      /* last switch-in */
	__u64 out_ns;     /* last switch-out; 0: on the CPU */
	/* Written by sched_waking alone and never cleared at switch-out: a waking on another CPU
	 * may run before the switch-out handler does. Valid when later than in_ns. */
	__u64 wake_ns;
	__u32 waker_tid;
	__u32 waker_tgid;
	__s32 waker_nr;
	__u8 waker_context;
	__u8 waker_vec;
	__u8 announced;
	__u8 depth; /* hops from a target, for recruited tasks */
	/* The stay off the CPU that is going on. */
	__u32 state;
	__u32 wait_flags;
	__s32 nr;
	__s32 last_nr; /* what restart_syscall restarts */
	__u32 cpu_out;
	__s32 counted_cpu; /* the CPU whose `waiting` counts this task; -1 none */
	__u64 args[4];
	__u64 ino;
	__u64 pos;
	__u32 dev;
	__u32 generation;
	__s32 fd;
	__u32 major_faults;
	__u8 file_kind;
	/* The driver call that is going on. */
	__u64 api_entry_ns;
	__u64 api_stream;
	__u64 api_event;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} task_ctxs SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} records SEC(".maps") __weak;

/* Process ids of the targets as given; read by the iterator, which marks their tasks and
 * descendants. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps") __weak;

struct cpu_ctx {
	__u64 slice_ns; /* since when the current task runs here */
	__u32 waiting;  /* emitting tasks that are runnable here and not running */
	__u8 in_irq;
	__u8 in_timer;
	__u8 softirq; /* 1 + vector; 0: none */
	__u8 reserved[41];
} __attribute__((aligned(64)));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, __u32);
	__type(value, struct cpu_ctx);
} cpu_ctxs SEC(".maps") __weak;

struct loss_slot {
	__u64 count;
	__u64 first_ns;
	__u64 last_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WST_LOSS_CLASSES);
	__type(key, __u32);
	__type(value, struct loss_slot);
} losses SEC(".maps") __weak;

static __always_inline void count_loss(__u32 loss_class, __u64 now)
{
	struct loss_slot *slot = bpf_map_lookup_elem(&losses, &loss_class);

	if (!slot)
		return;
	if (!slot->count)
		slot->first_ns = now;
	slot->last_ns = now;
	slot->count++;
}

static __always_inline struct cpu_ctx *cpu_ctx_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpu_ctxs, &cpu);
}

static __always_inline struct cpu_ctx *this_cpu_ctx(void)
{
	return cpu_ctx_of(bpf_get_smp_processor_id());
}

static __always_inline struct task_ctx *task_ctx_of(struct task_struct *task)
{
	return bpf_task_storage_get(&task_ctxs, task, 0, 0);
}

static __always_inline bool emits(const struct task_ctx *t, __u64 now)
{
	return t->emit_until > now;
}

static __always_inline bool is_target(const struct task_ctx *t)
{
	return t->emit_until == EMIT_ALWAYS;
}

static __always_inline void fill_header(struct wst_hdr *h, __u16 size, __u8 kind, __u64 ts)
{
	h->size = size;
	h->kind = kind;
	h->reserved = 0;
	h->cpu = bpf_get_smp_processor_id();
	h->ts = ts;
}

/* The consumer empties the ring on a timer: waking it for each record would cost the target 6 µs a
 * time. */
static __always_inline void submit(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* `name` is the kernel's own: the task's, or the one that it is about to get. */
static __always_inline void announce(struct task_struct *task, struct task_ctx *t, __u64 now,
				     __u32 flags, const char *name)
{
	struct wst_task *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		count_loss(WST_LOST_TASK, now);
		return;
	}
	t->announced = 1;
	fill_header(&r->h, sizeof(*r), WST_TASK, now);
	r->start_ns = BPF_CORE_READ(task, start_time);
	r->tid = BPF_CORE_READ(task, pid);
	r->tgid = BPF_CORE_READ(task, tgid);
	r->ppid = BPF_CORE_READ(task, real_parent, tgid);
	if (BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		flags |= WST_TASK_KERNEL;
	if (is_target(t))
		flags |= WST_TASK_TARGET;
	r->flags = flags;
	__builtin_memset(r->comm, 0, sizeof(r->comm));
	bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), name);
	submit(r);
}

#endif
