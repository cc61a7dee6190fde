// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Where task storage is made. Making it inside sched_switch asks for memory while the run queue is
 * locked; when memory is short that wakes the task that frees some, which needs the same lock. The
 * right way makes it where tasks are made, and for those that exist in an iterator, and only looks
 * it up in sched_switch. For guests only: the wrong way stops the machine.
 */
#include "kernel_types.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Larger than what whystall keeps of a task: more memory is asked for by each switch. */
struct note {
	__u64 words[128];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct note);
} notes SEC(".maps");

const volatile bool create_in_switch = false;

__u64 found, missed, made;

static void make_note(struct task_struct *task)
{
	if (bpf_task_storage_get(&notes, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		__sync_fetch_and_add(&made, 1);
}

/* Loaded and attached only for the right way. */
SEC("tp_btf/task_newtask")
int BPF_PROG(lab_newtask, struct task_struct *task)
{
	make_note(task);
	return 0;
}

SEC("iter/task")
int lab_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && task->pid)
		make_note(task);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(lab_switch, bool preempt, struct task_struct *prev)
{
	void *note;

	if (!prev->pid)
		return 0;
	note = bpf_task_storage_get(&notes, prev, 0,
				    create_in_switch ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	__sync_fetch_and_add(note ? &found : &missed, 1);
	return 0;
}
