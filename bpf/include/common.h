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
#define SLOT_NS 10000000ULL

/* Set before the load. */
const volatile __u32 cfg_self_tgid __weak = 0;
const volatile __u64 cfg_recruit_ns __weak = 2000000000ULL;
const volatile __u32 cfg_max_depth __weak = 8;
/* Waits of targets and recruits below this are added up; a thread that spends much time in them
 * gets a lower bound, down to the floor, as long as it makes few records. */
const volatile __u32 cfg_short_ns __weak = 20000;
const volatile __u32 cfg_short_floor_ns __weak = 1250;

/* Driver calls that are added up and not told yet. */
struct api_run {
	__u64 first_ns;
	__u64 last_ns; /* the last one's entry */
	__u64 end_ns;  /* queries: the last one's return */
	__u64 stream;
	__u64 event;
	__u32 count; /* 0: none */
	__u32 told;  /* of them, already */
	__s32 ret;
	__u16 call;
	__u16 symbol;
	/* A program of this task is inside: others, that interrupt it, keep away. */
	__u8 busy;
	__u8 reserved[7];
};

/*
 * What is kept for each task. Created in process context only (task_newtask and the iterator):
 * creating it inside a scheduler hook froze 6.1. The scheduler hooks look up only.
 */
struct task_ctx {
	__u64 emit_until; /* 0: not of interest, EMIT_ALWAYS: target, else recruited until then */
	__u64 in_ns;      /* last switch-in */
	__u64 out_ns;     /* last switch-out; 0: on the CPU */
	__u64 since_ns;   /* end of the last wait that has a record of its own */
	/* Written by sched_waking alone and never cleared at switch-out: a waking on another CPU
	 * may run before the switch-out handler does. Valid when later than in_ns. */
	__u64 wake_ns;
	__u64 waker_ino;
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
	__u64 file; /* struct file that the call is on; the call holds it */
	__s32 fd;   /* by which the program names it; -1: not by a descriptor */
	__u32 major_faults;
	__u64 quota_group; /* cfs_rq that it was on, and how long that one had been throttled */
	__u64 quota_ns;
	__u32 futex_word;
	__u32 futex_owner;
	__u32 polled_total;
	__u32 polled_count;
	__s32 polled[WST_MAX_POLLED];
	__u64 polled_files[WST_MAX_POLLED]; /* struct file, as `file` */
	/* What `file` is, found out when the wait is over. */
	__u64 ino;
	__u64 pos;
	__u32 dev;
	__u32 generation;
	__u32 rdev;
	__u8 file_kind;
	/* The last page of a mapped file that was asked for, since the task was last blocked; 0:
	 * none. Its mapping holds the inode. fault_ip is where in the program. */
	__u64 fault_inode;
	__u64 fault_pos;
	__u64 fault_ip;
	/* The driver call that is going on; api_entry_ns 0: none that is timed. */
	__u64 api_entry_ns;
	__u64 api_cookie;
	__u64 api_sp; /* where its return address lies: a call within it has a lower one */
	__u64 api_stream;
	__u64 api_event;
	__u64 api_bytes;
	__u64 api_steal; /* of api_cpu, at the entry */
	__u32 api_cpu;
	__u32 submits; /* so far */
	struct api_run run;
	/* Waits without a record of their own: the short ones of a task that emits, the journal of
	 * another. One piece of memory, in the form in which it is emitted. */
	__u32 short_ns;   /* waits below this are added up */
	__u32 rate_waits; /* records of single waits since rate_ns */
	__u32 next_sum;   /* the journal's oldest entry, which the next new one replaces */
	__u32 reserved;
	__u64 rate_ns;
	__u64 slot_short_ns; /* all that was added up since sums.from_ns */
	struct wst_sums sums;
	struct wst_sum sum[WST_MAX_SUMS];
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
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps") __weak;

/* A stretch of time in which one task or process ran on a CPU. */
struct stretch {
	__u64 start_ns;
	__u64 end_ns;
	__u32 tid;
	__u32 tgid;
	char comm[WST_COMM_LEN];
};

struct cpu_ctx {
	__u32 waiting; /* emitting tasks that are runnable here and not running */
	__u8 in_irq;
	__u8 in_timer;
	__u8 softirq; /* 1 + vector; 0: none */
	__u8 reserved;
	__u64 waiting_ns;       /* since when `waiting` is not 0 */
	struct stretch current; /* the task on this CPU; end_ns is not used */
	struct stretch held;    /* who ran while somebody waited; end_ns 0: nobody yet */
	__u64 slot_ns;          /* emitted slices are counted from here */
	__u32 slot_slices;
	__u32 reserved2;
} __attribute__((aligned(64)));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, __u32);
	__type(value, struct cpu_ctx);
} cpu_ctxs SEC(".maps") __weak;

/* User space moves it on each second, so that each loss is told with the second in which it lies.
 */
__u32 loss_epoch __weak = 1;

/* What was lost in one epoch. Of the last LOSS_EPOCHS there is a slot each: user space reads one
 * that is long over, when nobody writes to it any more. */
#define LOSS_EPOCHS 4
struct loss_slot {
	__u64 count;
	__u64 first_ns;
	__u64 last_ns;
	__u64 epoch;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WST_LOSS_CLASSES *LOSS_EPOCHS);
	__type(key, __u32);
	__type(value, struct loss_slot);
} losses SEC(".maps") __weak;

static __always_inline void count_loss(__u32 loss_class, __u64 now)
{
	__u32 epoch = *(volatile __u32 *)&loss_epoch;
	__u32 at = loss_class * LOSS_EPOCHS + epoch % LOSS_EPOCHS;
	struct loss_slot *slot = bpf_map_lookup_elem(&losses, &at);

	if (!slot)
		return;
	if (slot->epoch != epoch) {
		slot->epoch = epoch;
		slot->count = 0;
		slot->first_ns = now;
		slot->last_ns = now;
	}
	/* A run of calls is told later than its time. */
	if (now < slot->first_ns)
		slot->first_ns = now;
	if (now > slot->last_ns)
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

/* Room in the ring for a record, with its header; what finds none is counted. All else in it is the
 * caller's to fill. */
static __always_inline void *new_record(__u64 size, __u8 kind, __u32 loss_class, __u64 now)
{
	struct wst_hdr *h = bpf_ringbuf_reserve(&records, size, 0);

	if (!h)
		count_loss(loss_class, now);
	else
		fill_header(h, size, kind, now);
	return h;
}

/* The consumer empties the ring on a timer: waking it for each record would cost the target 6 µs a
 * time. */
static __always_inline void submit(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline __u32 own_namespace_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid innermost = {};
	__u32 stride = bpf_core_type_size(struct upid);

	if (!pid || level > 32) /* MAX_PID_NS_LEVEL */
		return 0;
	bpf_core_read(&innermost, sizeof(innermost), &pid->numbers[0]);
	if (level) {
		void *at = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			   (__u64)level * stride;

		bpf_probe_read_kernel(&innermost, sizeof(innermost), at);
	}
	return innermost.nr;
}

/* `name` is the kernel's own: the task's, or the one that it is about to get. */
static __always_inline void announce(struct task_struct *task, struct task_ctx *t, __u64 now,
				     __u32 flags, const char *name)
{
	struct wst_task *r = new_record(sizeof(*r), WST_TASK, WST_LOST_TASK, now);

	if (!r)
		return;
	t->announced = 1;
	r->start_ns = BPF_CORE_READ(task, start_time);
	r->tid = BPF_CORE_READ(task, pid);
	r->tgid = BPF_CORE_READ(task, tgid);
	r->ppid = BPF_CORE_READ(task, real_parent, tgid);
	if (BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		flags |= WST_TASK_KERNEL;
	if (is_target(t))
		flags |= WST_TASK_TARGET;
	r->flags = flags;
	r->ns_tid = own_namespace_tid(task);
	r->reserved = 0;
	__builtin_memset(r->comm, 0, sizeof(r->comm));
	bpf_probe_read_kernel_str(r->comm, sizeof(r->comm), name);
	submit(r);
}

#endif
