// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * What the contention events may touch. contention_end of a spin lock fires while that lock is
 * held, also when it is the lock of a ring buffer: reserving there waits for a lock that this CPU
 * holds. The right way ignores spin locks, notes the rest in storage that exists and leaves the
 * record to the next sched_switch. For guests only: the wrong way stops the machine.
 */
#include "kernel_types.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define NR_GETPPID 110
#define LCB_F_SPIN 1

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

struct lock_wait {
	__u64 lock; /* that is being waited for; 0: none */
	__u64 since_ns;
	__u64 total_ns; /* not yet told */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lock_wait);
} lock_waits SEC(".maps");

const volatile bool reserve_in_end = false;

__u64 calls, spins, noted, told;

static bool emit(__u64 value)
{
	__u64 *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record)
		return false;
	*record = value;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return true;
}

static struct lock_wait *wait_of(struct task_struct *task, __u64 flags)
{
	return bpf_task_storage_get(&lock_waits, task, 0, flags);
}

SEC("tp_btf/task_newtask")
int BPF_PROG(lab_newtask, struct task_struct *task)
{
	wait_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

/* Keeps the ring's lock contended: the load calls this from several threads. */
SEC("tp_btf/sys_enter")
int BPF_PROG(lab_enter, struct pt_regs *regs, long nr)
{
	if (nr == NR_GETPPID && emit(0))
		__sync_fetch_and_add(&calls, 1);
	return 0;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(lab_begin, void *lock, unsigned int flags)
{
	struct lock_wait *w;

	if (flags & LCB_F_SPIN) {
		__sync_fetch_and_add(&spins, 1);
		return 0;
	}
	if (reserve_in_end)
		return 0;
	w = wait_of(bpf_get_current_task_btf(), 0);
	if (!w)
		return 0;
	w->since_ns = bpf_ktime_get_ns();
	w->lock = (__u64)lock;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(lab_end, void *lock)
{
	struct lock_wait *w;

	if (reserve_in_end) {
		emit(1);
		return 0;
	}
	w = wait_of(bpf_get_current_task_btf(), 0);
	/* The end does not say the lock's kind: spin locks, also those taken while a task waits for
	 * another lock, are not the one that was noted. */
	if (!w || w->lock != (__u64)lock)
		return 0;
	w->total_ns += bpf_ktime_get_ns() - w->since_ns;
	w->lock = 0;
	__sync_fetch_and_add(&noted, 1);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(lab_switch, bool preempt, struct task_struct *prev)
{
	struct lock_wait *w;

	if (reserve_in_end || !prev->pid)
		return 0;
	w = wait_of(prev, 0);
	if (w && w->total_ns && emit(w->total_ns)) {
		w->total_ns = 0;
		__sync_fetch_and_add(&told, 1);
	}
	return 0;
}
