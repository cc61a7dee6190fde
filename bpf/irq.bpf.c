// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * What interrupt context a CPU is in, so that a wake-up from an interrupt does not blame the task
 * that happened to run. Flags per CPU: hard interrupts do not nest on x86, and a softirq ends
 * before another begins. Present since long before 6.1.
 */
#include "common.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define FLAG(tracepoint, field, value)                                                             \
	SEC("tp_btf/" #tracepoint)                                                                 \
	int BPF_PROG(wst_##tracepoint)                                                             \
	{                                                                                          \
		struct cpu_ctx *c = this_cpu_ctx();                                                \
		if (c)                                                                             \
			c->field = (value);                                                        \
		return 0;                                                                          \
	}

FLAG(irq_handler_entry, in_irq, 1)
FLAG(irq_handler_exit, in_irq, 0)
FLAG(call_function_entry, in_irq, 1)
FLAG(call_function_exit, in_irq, 0)
FLAG(call_function_single_entry, in_irq, 1)
FLAG(call_function_single_exit, in_irq, 0)
FLAG(irq_work_entry, in_irq, 1)
FLAG(irq_work_exit, in_irq, 0)
FLAG(hrtimer_expire_entry, in_timer, 1)
FLAG(hrtimer_expire_exit, in_timer, 0)
FLAG(softirq_exit, softirq, 0)

SEC("tp_btf/softirq_entry")
int BPF_PROG(wst_softirq_entry, unsigned int vector)
{
	struct cpu_ctx *c = this_cpu_ctx();

	if (c)
		c->softirq = vector + 1;
	return 0;
}
