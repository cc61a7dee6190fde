// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Wake-ups: who woke a task, from which context, and whether the waker's own waits are of interest
 * from now on. Runs in the waker's context. Looks task storage up and never creates it.
 */
#include "common.h"
#include "ends.h"
#include "slices.h"
#include "sums.h"
#include "wait.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The waker's own call, when it is inside one. */
static __always_inline __s32 current_syscall(struct task_struct *current)
{
	struct pt_regs *regs;

	if (current->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(current);
	if ((long)regs->ax != -ENOSYS || (__s32)regs->orig_ax < 0)
		return -1;
	return wst_native_call(regs->orig_ax, current->thread_info.status & TS_COMPAT);
}

static __always_inline __s32 first_argument(struct task_struct *current)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);

	return current->thread_info.status & TS_COMPAT ? (__s32)regs->bx : (__s32)regs->di;
}

/* The inode that the waker's call is on; 0 if it is on none. */
static __always_inline __u64 inode_of_call(struct task_struct *current, __s32 nr)
{
	struct file *file;

	if (nr < 0 || wst_descriptor_argument(nr) != 0)
		return 0;
	file = file_of_fd(current, first_argument(current));
	return file ? BPF_CORE_READ(file, f_inode, i_ino) : 0;
}

static __always_inline bool sends_packets(__s32 nr)
{
	return nr == WST_NR_WRITE || nr == WST_NR_WRITEV || nr == WST_NR_SENDTO ||
	       nr == WST_NR_SENDMSG || nr == WST_NR_SENDMMSG || nr == WST_NR_CONNECT ||
	       nr == WST_NR_SENDFILE || nr == WST_NR_SPLICE;
}

static __always_inline struct sock *inet_sock_of(struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFSOCK ||
	    socket_kind(inode) != WST_FILE_INET)
		return NULL;
	return sock_of_inode(inode);
}

/*
 * Whether `current` is in a call that sends to the network socket that `t` waits for. Which socket
 * an epoll set or a poll() on several waits for is not known here: any may be it.
 */
__weak int wst_sends_to(const struct task_ctx *t, __u32 nr)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs;
	struct file *file;
	struct sock *sender, *receiver;
	__u16 to, from;

	if (!t || !sends_packets(nr))
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(current);
	/* The third argument is in the same register for all. */
	file = file_of_fd(current, nr == WST_NR_SPLICE ? (__s32)regs->dx : first_argument(current));
	sender = file ? inet_sock_of(file) : NULL;
	if (!sender)
		return false;
	if (!t->file || t->polled_total > 1)
		return true;
	receiver = inet_sock_of((struct file *)t->file);
	if (!receiver)
		return waits_on_many(t->nr);
	to = swap16(BPF_CORE_READ(sender, __sk_common.skc_dport));
	from = swap16(BPF_CORE_READ(receiver, __sk_common.skc_dport));
	/* 0: not connected, so that a packet can go anywhere and come from anybody. */
	return (!to || to == BPF_CORE_READ(receiver, __sk_common.skc_num)) &&
	       (!from || from == BPF_CORE_READ(sender, __sk_common.skc_num));
}

static __always_inline __u8 wake_context(const struct cpu_ctx *c, struct task_struct *current,
					 __s32 nr, const struct task_ctx *t)
{
	if (c) {
		if (c->in_timer)
			return WST_CTX_TIMER;
		if (c->in_irq)
			return WST_CTX_HARDIRQ;
		/* Over loopback the receiver is woken from NET_RX inside the sender's own call. */
		if (c->softirq == NET_RX_SOFTIRQ + 1 && wst_sends_to(t, nr))
			return WST_CTX_LOCALNET;
		if (c->softirq == TIMER_SOFTIRQ + 1)
			return WST_CTX_TIMER;
		if (c->softirq)
			return WST_CTX_SOFTIRQ;
	}
	/* The idle task wakes nobody by itself. */
	return current->pid ? WST_CTX_TASK : WST_CTX_HARDIRQ;
}

/* Another whystall that looks at the same target wakes its threads, and waits for nobody's sake. */
static __always_inline bool is_tracer(struct task_struct *task)
{
	char comm[WST_COMM_LEN] = {};
	__u64 name;

	bpf_core_read(comm, sizeof(comm), &task->comm);
	__builtin_memcpy(&name, comm, sizeof(name));
	return name == NAME8('w', 'h', 'y', 's', 't', 'a', 'l', 'l') && !comm[8];
}

/* A task that wakes a task of interest in its own name becomes of interest: its waits are the next
 * hop. */
static __always_inline void recruit(struct task_struct *current, const struct task_ctx *wakee,
				    __u64 now)
{
	struct task_ctx *w = task_ctx_of(current);
	__u8 depth = is_target(wakee) ? 1 : wakee->depth + 1;
	bool fresh, follow;

	if (!w || (__u32)current->tgid == cfg_self_tgid || is_tracer(current))
		return;
	/* The walk ends at a kernel thread: what it waited for says nothing of whom it works for.
	 */
	follow = !is_target(w) && depth <= cfg_max_depth && !(current->flags & PF_KTHREAD);
	fresh = follow && !emits(w, now);
	if (fresh || !w->announced)
		announce(current, w, now, fresh ? WST_TASK_RECRUITED : 0, current->comm);
	if (!follow)
		return;
	if (fresh) /* what it did before somebody asked */
		flush_sums(w, now, WST_SUMS_JOURNAL);
	if (fresh || depth < w->depth)
		w->depth = depth;
	w->emit_until = now + cfg_recruit_ns;
}

static __always_inline void note_waker(struct task_ctx *t, __u64 now, bool watched)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct cpu_ctx *c = this_cpu_ctx();
	__s32 nr = current->pid ? current_syscall(current) : -1;
	__u8 context = wake_context(c, current, nr, t);
	bool by_task = context == WST_CTX_TASK || context == WST_CTX_LOCALNET;

	t->wake_ns = now;
	t->waker_tid = current->pid;
	t->waker_tgid = current->tgid;
	t->waker_nr = by_task ? nr : -1;
	t->waker_ino = by_task && watched && waits_on_many(t->nr) ? inode_of_call(current, nr) : 0;
	t->waker_context = context;
	t->waker_vec = c && c->softirq ? c->softirq - 1 : 0;
	if (by_task && watched)
		recruit(current, t, now);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(wst_waking, struct task_struct *task)
{
	struct task_ctx *t = task_ctx_of(task);
	bool watched;
	__u64 now;

	if (!t)
		count_loss(WST_LOST_STORAGE, bpf_ktime_get_ns());
	if (!t || task->flags & PF_KTHREAD)
		return 0;
	now = bpf_ktime_get_ns();
	/* A recruit that sleeps past its time still owes the record of that sleep. */
	watched = t->emit_until > (t->out_ns ? t->out_ns : now);
	note_waker(t, now, watched);
	/* Off the CPU: from here on it waits for one; sched_migrate_task says when another is
	 * chosen. */
	if (watched && t->out_ns)
		count_runnable(t, task->thread_info.cpu, now);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wst_wakeup_new, struct task_struct *task)
{
	struct task_ctx *t = task_ctx_of(task);
	__u64 now;

	if (!t || !t->emit_until)
		return 0;
	now = bpf_ktime_get_ns();
	note_waker(t, now, true);
	count_runnable(t, task->thread_info.cpu, now);
	return 0;
}
