// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Waits, and who ran meanwhile. tp_btf on the scheduler's own tracepoints: typed arguments, no
 * tracefs, the cheapest hook there is; nothing sits on the path of a call that does not block.
 * Every program looks task storage up and never creates it; a miss is counted.
 */
#include "api.h"
#include "common.h"
#include "emit.h"
#include "ends.h"
#include "slices.h"
#include "sums.h"
#include "wait.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Shapes that only some kernels have. */
static __always_inline bool is_delayed_dequeue(struct task_struct *task)
{
	struct sched_entity___delayed *se = (void *)&task->se;

	if (!bpf_core_field_exists(se->sched_delayed))
		return false;
	return se->sched_delayed;
}

/*
 * A task leaves the CPU that was never seen to come back: in some sandboxes some switches reach no
 * tracepoint. It did not come before it was woken, and not before the last switch on this CPU that
 * was seen, at `since`; from then on it is taken as running. Of a sleep without a wake-up nothing
 * can be told.
 */
static __always_inline void end_unseen(struct task_struct *task, struct task_ctx *t, __u64 now,
				       __u64 since)
{
	__u64 end = runnable_since(t, now);

	if (end >= now) {
		count_loss(WST_LOST_WAIT, now);
		return;
	}
	if (since > end && since < now)
		end = since;
	identify_at_end(task, t);
	close_slot(t, t->out_ns);
	emit_wait(task, t, end, WST_WAIT_UNSEEN);
	t->since_ns = end;
	t->in_ns = end;
}

/* Where the task left user space: as long as it is in one fault, this is one place. */
static __always_inline __u64 user_ip(struct task_struct *task)
{
	return ((struct pt_regs *)bpf_task_pt_regs(task))->ip;
}

/* The current task leaves the CPU. */
__weak int wst_leave_cpu(struct task_ctx *t, __u64 now, __u32 preempt, __u32 state, __u64 since)
{
	struct task_struct *prev = bpf_get_current_task_btf();
	bool watched, blocked;

	if (!t)
		return 0;
	if (t->out_ns && t->emit_until)
		end_unseen(prev, t, now, since);
	t->out_ns = now;
	if (t->emit_until && !emits(t, now)) { /* a recruit whose time is over */
		flush_sums(t, now, 0);
		emit_last(prev, WST_QUIET, now);
		t->emit_until = 0;
		t->quota_group = 0;
		count_runnable(t, -1, now);
	}
	watched = t->emit_until;
	/* The walk ends at a kernel thread, so it needs no past. */
	if (!watched && prev->flags & PF_KTHREAD)
		return 0;
	blocked = !preempt && state && !(prev->on_rq && !is_delayed_dequeue(prev));
	t->state = preempt ? 0 : state;
	t->wait_flags = blocked ? WST_WAIT_BLOCKED : 0;
	if (blocked)
		decode_wait(prev, t, t->state, true, watched);
	else
		forget_wait(t);
	if (!watched)
		return 0;
	tell_run_of_interrupted(t);
	if (blocked && BPF_CORE_READ_BITFIELD(prev, in_iowait))
		t->wait_flags |= WST_WAIT_IOWAIT;
	if (blocked && t->fault_inode) {
		if (t->nr < 0 && t->fault_ip == user_ip(prev))
			wst_identify_fault(t);
		t->fault_inode = 0;
	}
	t->cpu_out = bpf_get_smp_processor_id();
	t->major_faults = (__u32)prev->maj_flt;
	t->quota_group = (__u64)prev->se.cfs_rq;
	t->quota_ns = quota_clock(prev);
	/* Still runnable, or woken before this handler ran: it waits for this CPU from now on. */
	count_runnable(t, !blocked || was_woken(t) ? (__s32)t->cpu_out : -1, now);
	return 0;
}

/* A wait that has a record of its own is over. */
static __always_inline void end_wait(struct task_struct *next, struct task_ctx *t, __u64 now)
{
	const struct path *path = NULL;
	__u8 how = KNOWN_WHILE_LOOKED_UP;
	struct file_key key;

	if (identify_at_end(next, t)) {
		how = KNOWN_WHILE_OPEN;
		if (t->file_kind == WST_FILE_REGULAR)
			path = (void *)t->file + bpf_core_field_offset(struct file, f_path);
		note_wanted(t);
	} else if (!t->file && t->nr >= 0) {
		path = (void *)BPF_CORE_READ(next, nameidata);
		if (path) {
			path = (void *)path + bpf_core_field_offset(struct nameidata, path);
			wst_identify_place((__u64)path, t);
		}
	}
	if (path) {
		key.ino = t->ino;
		key.dev = t->dev;
		key.generation = t->generation;
		if (t->file_kind == WST_FILE_REGULAR || t->file_kind == WST_FILE_DIRECTORY)
			emit_file(path, &key, how, now);
	}
	close_slot(t, t->out_ns);
	emit_pollset(next, t, now);
	emit_wait(next, t, now, 0);
	count_record(t, now);
	t->since_ns = now;
}

static __always_inline void enter_cpu(struct task_struct *next, struct task_ctx *t,
				      struct cpu_ctx *c, __u64 now)
{
	if (!t->out_ns)
		goto running;
	if (t->emit_until > t->out_ns) {
		__u64 runnable_ns = now - runnable_since(t, now);

		count_runnable(t, -1, now);
		if (c)
			waited_enough(c, runnable_ns, bpf_get_smp_processor_id());
		/* What was there before, and a stop, is not short however soon it ends. */
		if (now - t->out_ns >= t->short_ns ||
		    t->wait_flags & (WST_WAIT_BORN | WST_WAIT_BEFORE | WST_WAIT_FREEZE))
			end_wait(next, t, now);
		else
			add_to_sums(next, t, now, true);
	} else if (!(next->flags & PF_KTHREAD)) {
		add_to_sums(next, t, now, false);
		t->since_ns = now;
	}
running:
	t->in_ns = now;
	t->out_ns = 0;
	if (!t->since_ns)
		t->since_ns = now;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(wst_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_ctx *c = cpu_ctx_of(cpu);
	struct task_ctx *t;
	__u64 since = 0; /* the last switch here that was seen */

	if (c) {
		since = c->current.start_ns;
		hold_slice(c, now, cpu);
		note_current(c, next, now);
	}
	if (prev->pid) {
		t = task_ctx_of(prev);
		if (!t) {
			count_loss(WST_LOST_STORAGE, now);
		} else if (prev_state & TASK_DEAD) {
			if (emits(t, now) && t->in_ns) {
				wst_tell_run(t);
				flush_sums(t, now, 0);
				emit_run(prev, t, now);
			}
			count_runnable(t, -1, now);
			t->emit_until = 0;
		} else {
			wst_leave_cpu(t, now, preempt, prev_state, since);
		}
	}
	if (next->pid) {
		t = task_ctx_of(next);
		if (!t)
			count_loss(WST_LOST_STORAGE, now);
		else
			enter_cpu(next, t, c, now);
	}
	return 0;
}

/* A runnable task is moved: from here on it waits for another CPU, and who runs on the old one is
 * told up to here. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(wst_migrate, struct task_struct *task, int cpu)
{
	struct task_ctx *t = task_ctx_of(task);
	struct cpu_ctx *old;
	struct wst_migrate *r;
	__u64 now;
	__s32 from;

	if (!t || t->counted_cpu < 0)
		return 0;
	now = bpf_ktime_get_ns();
	from = t->counted_cpu;
	/* Not on a run queue: the wake-up is still choosing the CPU. */
	if (task->on_rq && from != cpu) {
		t->wait_flags |= WST_WAIT_MIGRATED;
		old = cpu_ctx_of(from);
		if (old && old->current.tid && now - old->waiting_ns >= cfg_short_ns)
			emit_slice(&old->current, ran_and_waited_since(old), now, from);
		r = new_record(sizeof(*r), WST_MIGRATE, WST_LOST_WAIT, now);
		if (r) {
			r->tid = task->pid;
			r->tgid = task->tgid;
			r->from_cpu = from;
			r->to_cpu = cpu;
			submit(r);
		}
	}
	count_runnable(t, cpu, now);
	return 0;
}
