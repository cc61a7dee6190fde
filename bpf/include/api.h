/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * Records of driver calls. Submits of a thread to one stream in close succession, and queries that
 * give the same answer, make one record. Such a run is told when the thread does anything else: it
 * makes another call, leaves the CPU, is sampled there, or ends; so none is kept back for longer
 * than 10 ms.
 */
#ifndef WHYSTALL_BPF_API_H
#define WHYSTALL_BPF_API_H

#include "common.h"

#define NOT_STOLEN 0ULL
#define STOLEN_UNKNOWN (~0ULL)

/* What the hypervisor has taken from this CPU, as the kernel counts it: at each tick, and a tick
 * that fell due meanwhile comes before anything else runs. */
static __always_inline __u64 stolen_so_far(void)
{
	struct rq *rq = BPF_CORE_READ(bpf_get_current_task_btf(), se.cfs_rq, rq);

	return bpf_core_field_exists(rq->prev_steal_time) ? BPF_CORE_READ(rq, prev_steal_time) : 0;
}

static __always_inline struct wst_api *new_api(const struct task_ctx *t, __u16 call, __u16 symbol,
					       __u64 ts, __u64 entry)
{
	struct wst_api *r = new_record(sizeof(*r), WST_API, WST_LOST_API, ts);

	if (!r)
		return NULL;
	r->entry_ns = entry;
	r->tid = t->sums.tid;
	r->tgid = t->sums.tgid;
	r->call = call;
	r->symbol = symbol;
	r->last_ns = 0;
	r->bytes = 0;
	r->stolen_ns = NOT_STOLEN;
	r->count = 1;
	r->submits = t->submits;
	return r;
}

static __always_inline void emit_run_of_calls(const struct task_ctx *t)
{
	const struct api_run *run = &t->run;
	bool submits = run->call == WST_API_SUBMIT;
	struct wst_api *r = new_api(t, run->call, run->symbol,
				    submits ? run->first_ns : run->end_ns, run->first_ns);

	if (!r)
		return;
	r->stream = run->stream;
	r->event = run->event;
	r->ret = run->ret;
	r->last_ns = run->last_ns;
	r->count = run->count - run->told;
	submit(r);
}

/* From the task itself, or from what has taken its CPU: the caller owns the run, which goes on. */
__weak int wst_tell_run_so_far(struct task_ctx *t)
{
	if (!t || t->run.count == t->run.told)
		return 0;
	emit_run_of_calls(t);
	t->run.told = t->run.count;
	return 0;
}

/* The same at the run's end. */
__weak int wst_tell_run(struct task_ctx *t)
{
	if (!t)
		return 0;
	wst_tell_run_so_far(t);
	t->run.count = 0;
	t->run.told = 0;
	return 0;
}

/* Whoever interrupts the task, on its own CPU. */
static __always_inline void tell_run_of_interrupted(struct task_ctx *t)
{
	if (t->run.count && !t->run.busy)
		wst_tell_run(t);
}

#endif
