/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * Who ran on a CPU while a task of interest was runnable there. Stretches of one process that
 * follow each other are one slice. A slice is held back until somebody has waited long enough for
 * the wait to get a record, so that a wake-up that is served at once costs no record.
 */
#ifndef WHYSTALL_BPF_SLICES_H
#define WHYSTALL_BPF_SLICES_H

#include "common.h"

/* Each CPU: 20,000 slices a second; what comes above is one slice of "several processes". */
#define SLOT_SLICES 200

static __always_inline void emit_slice(const struct stretch *s, __u64 start, __u64 end, __u32 cpu)
{
	struct wst_slice *r;

	if (start >= end)
		return;
	r = new_record(sizeof(*r), WST_SLICE, WST_LOST_SLICE, end);
	if (!r)
		return;
	r->h.cpu = cpu;
	r->start_ns = start;
	r->tid = s->tid;
	r->tgid = s->tgid;
	__builtin_memcpy(r->comm, s->comm, sizeof(r->comm));
	submit(r);
}

static __always_inline void flush_held(struct cpu_ctx *c, __u32 cpu)
{
	struct stretch *h = &c->held;

	if (!h->end_ns)
		return;
	if (h->end_ns - c->slot_ns >= SLOT_NS) {
		c->slot_ns = h->end_ns;
		c->slot_slices = 0;
	}
	c->slot_slices++;
	emit_slice(h, h->start_ns, h->end_ns, cpu);
	h->end_ns = 0;
}

/* Since when the current task runs there while somebody waits. */
static __always_inline __u64 ran_and_waited_since(const struct cpu_ctx *c)
{
	return c->current.start_ns > c->waiting_ns ? c->current.start_ns : c->waiting_ns;
}

/* `c->current` leaves the CPU now. */
static __always_inline void hold_slice(struct cpu_ctx *c, __u64 now, __u32 cpu)
{
	struct stretch *h = &c->held;
	struct stretch *s = &c->current;
	__u64 start = ran_and_waited_since(c);

	if (!c->waiting || !s->tid || !s->start_ns || start >= now)
		return;
	if (h->end_ns && h->end_ns == start) {
		if (h->tgid == s->tgid) {
			h->end_ns = now;
			if (h->tid != s->tid)
				h->tid = 0;
		} else if (c->slot_slices >= SLOT_SLICES && now - c->slot_ns < SLOT_NS) {
			h->end_ns = now;
			h->tid = 0;
			h->tgid = 0;
		}
		if (h->end_ns == now) {
			if (now - h->start_ns >= SLOT_NS)
				flush_held(c, cpu);
			return;
		}
	}
	if (now - c->waiting_ns >= cfg_short_ns)
		flush_held(c, cpu);
	h->start_ns = start;
	h->end_ns = now;
	h->tid = s->tid;
	h->tgid = s->tgid;
	__builtin_memcpy(h->comm, s->comm, sizeof(h->comm));
}

static __always_inline void note_current(struct cpu_ctx *c, struct task_struct *next, __u64 now)
{
	c->current.start_ns = now;
	c->current.tid = next->pid;
	c->current.tgid = next->tgid;
	bpf_core_read(c->current.comm, sizeof(c->current.comm), &next->comm);
}

/* `t` waits for `cpu` from `now` on; -1: for none. */
static __always_inline void count_runnable(struct task_ctx *t, __s32 cpu, __u64 now)
{
	struct cpu_ctx *c;

	if (t->counted_cpu == cpu)
		return;
	if (t->counted_cpu >= 0) {
		c = cpu_ctx_of(t->counted_cpu);
		if (c)
			__sync_fetch_and_add(&c->waiting, -1);
	}
	t->counted_cpu = cpu;
	if (cpu >= 0) {
		c = cpu_ctx_of(cpu);
		if (c && __sync_fetch_and_add(&c->waiting, 1) == 0)
			c->waiting_ns = now;
	}
}

/*
 * `t` gets the CPU. What was held back is written if the wait was long enough for a record. Of what
 * ran before a short wait, nobody asks, unless others still wait.
 */
static __always_inline void waited_enough(struct cpu_ctx *c, __u64 waited_ns, __u32 cpu)
{
	if (waited_ns >= cfg_short_ns)
		flush_held(c, cpu);
	else if (!c->waiting)
		c->held.end_ns = 0;
}

#endif
