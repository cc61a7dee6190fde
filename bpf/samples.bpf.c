// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Where target threads are when they are on the CPU: enough to tell work from polling. On a clock
 * of each CPU, so that a target costs nothing when it does not run there.
 */
#include "api.h"
#include "common.h"
#include "foreign_calls.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PAUSE_FIRST 0xf3
#define PAUSE_SECOND 0x90
#define CODE_BYTES 32

/* Whether the loop that the thread is in tells the CPU that it only waits: such a loop is short. */
static __always_inline bool is_beside_pause(__u64 ip)
{
	__u8 code[2 * CODE_BYTES];
	__u32 from = 0;

	if (bpf_probe_read_user(code, sizeof(code), (void *)(ip - CODE_BYTES))) {
		/* The page before may not be there. */
		from = CODE_BYTES;
		if (bpf_probe_read_user(code + CODE_BYTES, CODE_BYTES, (void *)ip))
			return false;
	}
	for (__u32 i = 0; i + 1 < sizeof(code); i++) {
		if (i >= from && code[i] == PAUSE_FIRST && code[i + 1] == PAUSE_SECOND)
			return true;
	}
	return false;
}

/* The C library's stub of a call does nothing else, so its return address lies there. */
static __always_inline __u64 top_of_stack(__u64 sp)
{
	__u64 top;

	if (bpf_probe_read_user(&top, sizeof(top), (void *)sp))
		return 0;
	return top;
}

SEC("perf_event")
int wst_on_cpu(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_ctx *t = task_ctx_of(task);
	struct wst_sample *r;
	struct pt_regs *regs;
	__u64 sp;

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
	r->stub_ip = 0;
	r->top = 0;
	if (!(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))) {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		r->ip = regs->ip;
		sp = regs->sp;
		/* An interrupt of user code leaves no call number there. */
		if ((long)regs->orig_ax >= 0 && (long)regs->ax == -ENOSYS) {
			r->flags = WST_SAMPLE_KERNEL;
			r->nr = wst_native_call(regs->orig_ax,
						task->thread_info.status & TS_COMPAT);
			if (r->nr == WST_NR_SCHED_YIELD) {
				r->stub_ip = r->ip;
				r->ip = top_of_stack(sp);
			}
		} else {
			r->top = top_of_stack(sp);
			if (is_beside_pause(r->ip))
				r->flags = WST_SAMPLE_PAUSE;
		}
	}
	submit(r);
	return 0;
}
