// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Where target threads are when they are on the CPU: enough to tell work from polling. On a clock
 * of each CPU, so that a target costs nothing when it does not run there.
 */
#include "api.h"
#include "common.h"
#include "foreign_calls.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")
int wst_on_cpu(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_ctx *t = task_ctx_of(task);
	struct wst_sample *r;
	struct pt_regs *regs;

	if (!t || !is_target(t))
		return 0;
	tell_run_of_interrupted(t);
	r = new_record(sizeof(*r), WST_SAMPLE, WST_LOST_SAMPLE, bpf_ktime_get_ns());
	if (!r)
		return 0;
	r->tid = task->pid;
	r->tgid = task->tgid;
	r->nr = -1;
	r->flags = 0;
	r->ip = 0;
	if (!(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))) {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		r->ip = regs->ip;
		/* An interrupt of user code leaves no call number there. */
		if ((long)regs->orig_ax >= 0 && (long)regs->ax == -ENOSYS) {
			r->flags = WST_SAMPLE_KERNEL;
			r->nr = wst_native_call(regs->orig_ax,
						task->thread_info.status & TS_COMPAT);
		}
	}
	submit(r);
	return 0;
}
