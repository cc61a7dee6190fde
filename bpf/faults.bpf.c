// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Which mapped file a thread touched. On faults that the file's pages are asked for, not on those
 * that find them mapped; who is not watched is left at once.
 */
#include "common.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PAGE_SHIFT 12

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(wst_filemap_fault, struct address_space *mapping, unsigned long index)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_ctx *t = task_ctx_of(task);

	if (!t || !t->emit_until)
		return 0;
	t->fault_ip = ((struct pt_regs *)bpf_task_pt_regs(task))->ip;
	t->fault_inode = (__u64)mapping->host;
	t->fault_pos = (__u64)index << PAGE_SHIFT;
	return 0;
}
