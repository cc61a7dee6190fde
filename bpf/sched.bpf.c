// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Waits, wake-ups and who ran meanwhile. tp_btf on the scheduler's own tracepoints: typed
 * arguments, no tracefs, the cheapest hook there is; nothing sits on the path of a call that does
 * not block. Every program looks task storage up and never creates it; a miss is counted.
 */
#include "common.h"
#include "wait.h"
#include "path.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void count_runnable(struct task_ctx *t, __s32 cpu)
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
		if (c)
			__sync_fetch_and_add(&c->waiting, 1);
	}
}

/* Shapes that only some kernels have. */
static __always_inline bool is_delayed_dequeue(struct task_struct *task)
{
	struct sched_entity___delayed *se = (void *)&task->se;

	if (!bpf_core_field_exists(se->sched_delayed))
		return false;
	return se->sched_delayed;
}

static __always_inline void leave_cpu(struct task_struct *prev, struct task_ctx *t, __u64 now,
				      bool preempt, __u32 state)
{
	bool blocked;

	t->out_ns = now;
	if (!t->emit_until)
		return;
	if (!emits(t, now)) { /* a recruit whose time is over */
		struct wst_exit *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

		if (!r) {
			count_loss(WST_LOST_TASK, now);
			return;
		}
		fill_header(&r->h, sizeof(*r), WST_QUIET, now);
		r->tid = prev->pid;
		r->tgid = prev->tgid;
		submit(r);
		t->emit_until = 0;
		count_runnable(t, -1);
		return;
	}
	blocked = !preempt && state && !(prev->on_rq && !is_delayed_dequeue(prev));
	t->state = preempt ? 0 : state;
	t->wait_flags = blocked ? WST_WAIT_BLOCKED : 0;
	if (blocked && BPF_CORE_READ_BITFIELD(prev, in_iowait))
		t->wait_flags |= WST_WAIT_IOWAIT;
	t->cpu_out = bpf_get_smp_processor_id();
	t->major_faults = (__u32)prev->maj_flt;
	if (blocked)
		decode_wait(prev, t, t->state, true);
	else
		forget_wait(t);
	/* Still runnable, or woken before this handler ran: it waits for this CPU from now on. */
	count_runnable(t, !blocked || t->wake_ns > t->in_ns ? (__s32)t->cpu_out : -1);
}

/* The file is looked at again: a descriptor that was closed and reused meanwhile names nothing. */
static __always_inline void check_file(struct task_struct *next, struct task_ctx *t, __u64 now)
{
	struct file_key key = {.ino = t->ino, .dev = t->dev, .generation = t->generation};
	struct file *file = file_of_fd(next, t->fd);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;

	if (!inode || BPF_CORE_READ(inode, i_ino) != key.ino ||
	    BPF_CORE_READ(inode, i_sb, s_dev) != key.dev) {
		t->wait_flags |= WST_WAIT_NO_FILE;
		return;
	}
	if (t->file_kind == WST_FILE_REGULAR && now - t->out_ns >= cfg_file_min_ns &&
	    !bpf_map_lookup_elem(&known_files, &key))
		emit_file(file, &key, now);
}

static __always_inline void enter_cpu(struct task_struct *next, struct task_ctx *t, __u64 now)
{
	if (t->out_ns && t->emit_until > t->out_ns) {
		if (t->fd >= 0 && t->file_kind)
			check_file(next, t, now);
		emit_wait(next, t, now, 0);
		count_runnable(t, -1);
	}
	t->in_ns = now;
	t->out_ns = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(wst_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	struct cpu_ctx *c = this_cpu_ctx();
	struct task_ctx *t;

	if (c) {
		if (c->waiting && prev->pid && c->slice_ns) {
			struct wst_slice *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

			if (r) {
				fill_header(&r->h, sizeof(*r), WST_SLICE, now);
				r->start_ns = c->slice_ns;
				r->tid = prev->pid;
				r->tgid = prev->tgid;
				BPF_CORE_READ_STR_INTO(&r->comm, prev, comm);
				submit(r);
			} else {
				count_loss(WST_LOST_SLICE, now);
			}
		}
		c->slice_ns = now;
	}
	if (prev->pid) {
		t = task_ctx_of(prev);
		if (!t) {
			count_loss(WST_LOST_STORAGE, now);
		} else if (prev_state & TASK_DEAD) {
			if (emits(t, now) && t->in_ns)
				emit_run(prev, t, now);
			count_runnable(t, -1);
			t->emit_until = 0;
		} else {
			leave_cpu(prev, t, now, preempt, prev_state);
		}
	}
	if (next->pid) {
		t = task_ctx_of(next);
		if (!t)
			count_loss(WST_LOST_STORAGE, now);
		else
			enter_cpu(next, t, now);
	}
	return 0;
}

/* The waker's own call, when it is inside one. */
static __always_inline __s32 current_syscall(struct task_struct *current)
{
	struct pt_regs *regs;

	if (current->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(current);
	if ((long)regs->ax != -ENOSYS)
		return -1;
	return (__s32)regs->orig_ax;
}

static __always_inline bool is_send(__s32 nr)
{
	return nr == 1 || nr == 20 || nr == 44 || nr == 46 || nr == 307;
}

/* Whether `current` sends on a network socket and `t` waits for one. */
static __always_inline bool sends_to(struct task_struct *current, __s32 nr,
				     const struct task_ctx *t)
{
	struct pt_regs *regs;
	struct file *file;
	struct inode *inode;

	if (!is_send(nr) ||
	    (t->file_kind && t->file_kind != WST_FILE_INET && t->file_kind != WST_FILE_EPOLL))
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(current);
	file = file_of_fd(current, (__s32)regs->di);
	if (!file)
		return false;
	inode = BPF_CORE_READ(file, f_inode);
	return (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFSOCK &&
	       socket_kind(inode) == WST_FILE_INET;
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
		if (c->softirq == NET_RX_SOFTIRQ + 1 && sends_to(current, nr, t))
			return WST_CTX_LOCALNET;
		if (c->softirq == TIMER_SOFTIRQ + 1)
			return WST_CTX_TIMER;
		if (c->softirq)
			return WST_CTX_SOFTIRQ;
	}
	/* The idle task wakes nobody by itself. */
	return current->pid ? WST_CTX_TASK : WST_CTX_HARDIRQ;
}

/* A task that wakes a task of interest in its own name becomes of interest: its waits are the next
 * hop. */
static __always_inline void recruit(struct task_struct *current, const struct task_ctx *wakee,
				    __u64 now)
{
	struct task_ctx *w = task_ctx_of(current);
	__u8 depth = is_target(wakee) ? 1 : wakee->depth + 1;
	bool fresh, follow;

	if (!w || (__u32)current->tgid == cfg_self_tgid)
		return;
	/* The walk ends at a kernel thread: what it waited for says nothing of whom it works for.
	 */
	follow = !is_target(w) && depth <= cfg_max_depth && !(current->flags & PF_KTHREAD);
	fresh = follow && !emits(w, now);
	if (fresh || !w->announced)
		announce(current, w, now, fresh ? WST_TASK_RECRUITED : 0, current->comm);
	if (!follow)
		return;
	if (fresh || depth < w->depth)
		w->depth = depth;
	w->emit_until = now + cfg_recruit_ns;
}

static __always_inline void note_waker(struct task_struct *task, struct task_ctx *t, __u64 now)
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
	t->waker_context = context;
	t->waker_vec = c && c->softirq ? c->softirq - 1 : 0;
	if (by_task)
		recruit(current, t, now);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(wst_waking, struct task_struct *task)
{
	struct task_ctx *t = task_ctx_of(task);
	__u64 now;

	if (!t)
		count_loss(WST_LOST_STORAGE, bpf_ktime_get_ns());
	if (!t || !t->emit_until)
		return 0;
	now = bpf_ktime_get_ns();
	/* A recruit that sleeps past its time still owes the record of that sleep. */
	if (t->emit_until <= (t->out_ns ? t->out_ns : now))
		return 0;
	note_waker(task, t, now);
	/* Off the CPU: from here on it waits for one; sched_migrate_task says when another is
	 * chosen. */
	if (t->out_ns)
		count_runnable(t, task->thread_info.cpu);
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
	note_waker(task, t, now);
	count_runnable(t, task->thread_info.cpu);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(wst_migrate, struct task_struct *task, int cpu)
{
	struct task_ctx *t = task_ctx_of(task);

	if (!t || t->counted_cpu < 0)
		return 0;
	/* Not on a run queue: the wake-up is still choosing the CPU. */
	if (task->on_rq)
		t->wait_flags |= WST_WAIT_MIGRATED;
	count_runnable(t, cpu);
	return 0;
}
