/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * Records of waits and runs.
 */
#ifndef WHYSTALL_BPF_EMIT_H
#define WHYSTALL_BPF_EMIT_H

#include "common.h"
#include "path.h"
#include "wait.h"

static __always_inline bool was_woken(const struct task_ctx *t)
{
	return t->wake_ns && t->wake_ns > t->in_ns;
}

/* When the task began to wait for a CPU; `now` while it still sleeps. */
static __always_inline __u64 runnable_since(const struct task_ctx *t, __u64 now)
{
	if (!(t->wait_flags & (WST_WAIT_BLOCKED | WST_WAIT_BORN)))
		return t->out_ns;
	if (!was_woken(t))
		return now;
	/* A waking on another CPU can come before the switch-out: then it never really slept. */
	return t->wake_ns > t->out_ns ? t->wake_ns : t->out_ns;
}

/* How long the group that the task is in has been throttled so far. 0: not known. */
static __always_inline __u64 quota_clock(struct task_struct *task)
{
	struct cfs_rq *group = task->se.cfs_rq;
	struct cfs_rq___since_6_6 *newer = (void *)group;

	if (bpf_core_field_exists(newer->throttled_clock_self_time))
		return BPF_CORE_READ(newer, throttled_clock_self_time);
	if (bpf_core_field_exists(group->throttled_clock_pelt_time))
		return BPF_CORE_READ(group, throttled_clock_pelt_time);
	return 0;
}

static __always_inline void emit_wait(struct task_struct *task, struct task_ctx *t, __u64 now,
				      __u32 extra_flags)
{
	struct wst_wait *r = new_record(sizeof(*r), WST_WAIT, WST_LOST_WAIT, now);
	__u32 flags = t->wait_flags | extra_flags;

	if (!r)
		return;
	if (extra_flags & WST_WAIT_OPEN) /* made by the dump, which runs on any CPU */
		r->h.cpu = task->thread_info.cpu;
	r->ran_ns = t->since_ns;
	r->out_ns = t->out_ns;
	r->args[0] = t->args[0];
	r->args[1] = t->args[1];
	r->args[2] = t->args[2];
	r->args[3] = t->args[3];
	r->ino = t->ino;
	r->pos = t->pos;
	r->dev = t->dev;
	r->generation = t->generation;
	r->tid = task->pid;
	r->tgid = task->tgid;
	r->nr = t->nr;
	r->state = t->state;
	r->cpu_out = t->cpu_out;
	r->file_kind = t->file_kind;
	r->reserved = 0;
	r->major_faults = t->major_faults;
	r->rdev = t->rdev;
	r->short_blocked_ns = t->sums.short_blocked_ns;
	r->short_runnable_ns = t->sums.short_runnable_ns;
	r->throttled_ns = 0;
	if (t->quota_group && (__u64)task->se.cfs_rq == t->quota_group) {
		r->throttled_ns = quota_clock(task) - t->quota_ns;
		flags |= WST_WAIT_QUOTA;
	}
	r->futex_word = t->futex_word;
	r->futex_owner = t->futex_owner;
	if (was_woken(t)) {
		flags |= WST_WAIT_WOKEN;
		r->wake_ns = t->wake_ns;
		r->waker_tid = t->waker_tid;
		r->waker_tgid = t->waker_tgid;
		r->waker_nr = t->waker_nr;
		r->waker_context = t->waker_context;
		r->waker_vec = t->waker_vec;
		r->waker_ino = t->waker_ino;
	} else {
		r->wake_ns = 0;
		r->waker_tid = 0;
		r->waker_tgid = 0;
		r->waker_nr = -1;
		r->waker_context = 0;
		r->waker_vec = 0;
		r->waker_ino = 0;
	}
	r->flags = flags;
	/* It moved on while it was described. */
	if ((extra_flags & WST_WAIT_OPEN) && t->out_ns != r->out_ns) {
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		return;
	}
	submit(r);
}

/* The run that is going on, or the last one of a task that ends: nothing else would record it. */
static __always_inline void emit_run(struct task_struct *task, const struct task_ctx *t, __u64 now)
{
	struct wst_wait *r = new_record(sizeof(*r), WST_WAIT, WST_LOST_WAIT, now);

	if (!r)
		return;
	__builtin_memset(&r->h + 1, 0, sizeof(*r) - sizeof(r->h));
	r->ran_ns = t->since_ns;
	r->out_ns = now;
	r->tid = task->pid;
	r->tgid = task->tgid;
	r->nr = -1;
	r->waker_nr = -1;
	r->major_faults = (__u32)task->maj_flt;
	r->short_blocked_ns = t->sums.short_blocked_ns;
	r->short_runnable_ns = t->sums.short_runnable_ns;
	r->flags = WST_WAIT_RUNNING | WST_WAIT_OPEN;
	submit(r);
}

/* What else the call waited for, besides the file that the wait names. */
static __always_inline void emit_pollset(struct task_struct *task, struct task_ctx *t, __u64 now)
{
	struct open_files open;
	struct wst_pollset *r;

	if (t->polled_total < 2)
		return;
	r = new_record(sizeof(*r), WST_POLLSET, WST_LOST_WAIT, now);
	if (!r)
		return;
	r->out_ns = t->out_ns;
	r->tid = task->pid;
	r->tgid = task->tgid;
	r->count = t->polled_count;
	r->total = t->polled_total;
	open = open_files_of(task);
	for (__u32 i = 0; i < WST_MAX_POLLED; i++) {
		struct wst_polled *p = &r->files[i];
		struct file *file = i < t->polled_count ? file_at(&open, t->polled[i]) : NULL;

		__builtin_memset(p, 0, sizeof(*p));
		p->fd = i < t->polled_count ? t->polled[i] : -1;
		if (file && (__u64)file == t->polled_files[i]) {
			struct inode *inode = BPF_CORE_READ(file, f_inode);

			p->ino = BPF_CORE_READ(inode, i_ino);
			p->dev = BPF_CORE_READ(inode, i_sb, s_dev);
			p->file_kind = wst_file_kind((__u64)file);
		}
	}
	submit(r);
}

/* WST_EXIT or WST_QUIET, which tell of a task and nothing else. */
static __always_inline void emit_last(struct task_struct *task, __u8 kind, __u64 now)
{
	struct wst_exit *r = new_record(sizeof(*r), kind, WST_LOST_TASK, now);

	if (!r)
		return;
	r->tid = task->pid;
	r->tgid = task->tgid;
	submit(r);
}

#endif
