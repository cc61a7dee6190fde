// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * What interrupt context a CPU is in, so that a wake-up from an interrupt does not blame the task
 * that happened to run. Flags per CPU: hard interrupts do not nest on x86, and a softirq ends
 * before another begins. Present since long before 6.1.
 */
#include "common.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define SET(field, value)                                                                          \
	do {                                                                                       \
		struct cpu_ctx *c = this_cpu_ctx();                                                \
		if (c)                                                                             \
			c->field = (value);                                                        \
	} while (0)

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(wst_irq_in)
{
	SET(in_irq, 1);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(wst_irq_out)
{
	SET(in_irq, 0);
	return 0;
}

SEC("tp_btf/call_function_single_entry")
int BPF_PROG(wst_ipi_in)
{
	SET(in_irq, 1);
	return 0;
}

SEC("tp_btf/call_function_single_exit")
int BPF_PROG(wst_ipi_out)
{
	SET(in_irq, 0);
	return 0;
}

SEC("tp_btf/irq_work_entry")
int BPF_PROG(wst_irq_work_in)
{
	SET(in_irq, 1);
	return 0;
}

SEC("tp_btf/irq_work_exit")
int BPF_PROG(wst_irq_work_out)
{
	SET(in_irq, 0);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(wst_timer_in)
{
	SET(in_timer, 1);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(wst_timer_out)
{
	SET(in_timer, 0);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(wst_softirq_in, unsigned int vector)
{
	SET(softirq, vector + 1);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(wst_softirq_out)
{
	SET(softirq, 0);
	return 0;
}
