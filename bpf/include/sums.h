/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * Waits that get no record of their own are added up by call, object and waker, in the task's
 * storage: the short ones of a task that emits, written out with each record of a wait and each
 * 10 ms; all of any other task, its journal, written out when it becomes of interest. Nothing is
 * lost by adding up but the order: the totals stay exact, and each edge stays.
 */
#ifndef WHYSTALL_BPF_SUMS_H
#define WHYSTALL_BPF_SUMS_H

#include "emit.h"

static __always_inline void forget_sums(struct task_ctx *t)
{
	t->sums.count = 0;
	t->sums.from_ns = 0;
	t->next_sum = 0;
	t->slot_short_ns = 0;
}

/* Writes the sums as they are; what may follow is `flags`. */
__weak int wst_copy_sums(struct task_ctx *t, __u64 now, __u32 flags)
{
	__u64 count;

	if (!t || !t->sums.count)
		return 0;
	count = t->sums.count;
	if (count > WST_MAX_SUMS)
		count = WST_MAX_SUMS;
	fill_header(&t->sums.h, sizeof(t->sums) + count * sizeof(t->sum[0]), WST_SUMS, now);
	t->sums.flags = flags;
	if (bpf_ringbuf_output(&records, &t->sums, sizeof(t->sums) + count * sizeof(t->sum[0]),
			       BPF_RB_NO_WAKEUP))
		count_loss(WST_LOST_WAIT, now);
	return 0;
}

static __always_inline void flush_sums(struct task_ctx *t, __u64 now, __u32 flags)
{
	wst_copy_sums(t, now, flags);
	forget_sums(t);
}

/*
 * The bound between waits with a record of their own and those that are added up. Single records
 * where they tell much and cost little: a thread that spends a tenth of its time in short waits
 * gets a lower bound, and a higher one again when that makes more than 6,400 records a second.
 */
static __always_inline void count_record(struct task_ctx *t, __u64 now)
{
	if (now - t->rate_ns >= SLOT_NS) {
		t->rate_ns = now;
		t->rate_waits = 0;
	}
	t->rate_waits++;
	if (t->rate_waits > 64 && t->short_ns < cfg_short_ns) {
		t->short_ns *= 2;
		t->rate_waits = 0;
	}
}

/* The sums up to `now` are written. */
static __always_inline void close_slot(struct task_ctx *t, __u64 now)
{
	if (!t->sums.count)
		return;
	if (t->slot_short_ns * 10 > now - t->sums.from_ns && t->rate_waits < 16 &&
	    t->short_ns / 2 >= cfg_short_floor_ns)
		t->short_ns /= 2;
	flush_sums(t, now, 0);
}

struct ended_wait {
	__u64 now;
	__u64 runnable_ns; /* since when it waited for a CPU */
	__u64 object;
	__u32 waker_tid;
	__u32 emits;
};

/* The entry of the same call, object and waker; NULL: none. */
static __always_inline struct wst_sum *find_sum(struct task_ctx *t, const struct ended_wait *w)
{
	for (__u32 i = 0; i < WST_MAX_SUMS; i++) {
		struct wst_sum *s = &t->sum[i];

		if (i >= t->sums.count)
			return NULL;
		if (s->nr == t->nr && s->waker_tid == w->waker_tid && s->object == w->object &&
		    !((s->flags ^ t->wait_flags) & WST_WAIT_BLOCKED))
			return s;
	}
	return NULL;
}

static __always_inline struct wst_sum *add_sum(struct task_ctx *t)
{
	__u64 at = t->sums.count;
	struct wst_sum *s;

	if (at >= WST_MAX_SUMS) {
		at = t->next_sum;
		t->next_sum = (at + 1) & (WST_MAX_SUMS - 1);
	} else {
		t->sums.count = at + 1;
	}
	asm volatile("" : "+r"(at));
	if (at >= WST_MAX_SUMS)
		return NULL;
	s = &t->sum[at];
	if (t->sums.count == WST_MAX_SUMS && s->in_ns > t->sums.from_ns && s->count)
		t->sums.from_ns = s->in_ns; /* what is dropped leaves a hole before this */
	__builtin_memset(s, 0, sizeof(*s));
	return s;
}

/* Adds a wait to the sums of its task. 1: it fits in no entry; only tasks that emit are refused,
 * and write theirs first. */
__weak int wst_sum_wait(struct task_ctx *t, struct ended_wait *w)
{
	struct wst_sum *s;
	__u64 blocked, runnable;

	if (!t || !w)
		return 0;
	s = find_sum(t, w);
	if (!s) {
		if (w->emits && t->sums.count >= WST_MAX_SUMS)
			return 1;
		s = add_sum(t);
		if (!s)
			return 0;
		s->first_ns = t->out_ns;
		s->object = w->object;
		s->nr = t->nr;
		s->waker_tid = w->waker_tid;
	}
	blocked = w->runnable_ns - t->out_ns;
	runnable = w->now - w->runnable_ns;
	s->out_ns = t->out_ns;
	s->wake_ns = was_woken(t) ? w->runnable_ns : 0;
	s->in_ns = w->now;
	s->blocked_ns += blocked;
	s->runnable_ns += runnable;
	s->count++;
	s->dev = t->dev;
	s->flags = t->wait_flags | (was_woken(t) ? WST_WAIT_WOKEN : 0);
	s->file_kind = t->file_kind;
	if (was_woken(t)) {
		s->waker_tgid = t->waker_tgid;
		s->waker_nr = t->waker_nr;
		s->waker_context = t->waker_context;
		s->waker_vec = t->waker_vec;
	} else {
		s->waker_nr = -1;
	}
	if (!t->sums.from_ns)
		t->sums.from_ns = t->out_ns;
	if (!w->emits)
		return 0;
	t->slot_short_ns += blocked + runnable;
	t->sums.short_blocked_ns += blocked;
	t->sums.short_runnable_ns += runnable;
	return 0;
}

/* Adds the wait that ends now to the sums of its task. */
static __always_inline void add_to_sums(struct task_struct *task, struct task_ctx *t, __u64 now,
					bool emits)
{
	struct ended_wait w = {.now = now, .emits = emits};

	w.runnable_ns = runnable_since(t, now);
	w.waker_tid = was_woken(t) ? t->waker_tid : 0;
	if (identify_at_end(task, t))
		w.object = t->ino;
	else if (t->nr == WST_NR_FUTEX)
		w.object = t->args[0];
	if (wst_sum_wait(t, &w) == 1) {
		flush_sums(t, t->out_ns, 0);
		wst_sum_wait(t, &w);
	}
	if (emits && now - t->sums.from_ns >= SLOT_NS)
		close_slot(t, now);
}

#endif
