/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * What a task that leaves the CPU waits for, read from its saved user registers and its file table.
 * No system-call tracepoint is needed, so a call that does not block costs nothing.
 */
#ifndef WHYSTALL_BPF_WAIT_H
#define WHYSTALL_BPF_WAIT_H

#include "common.h"
#include "file_kind.h"

#define NR_READ 0
#define NR_POLL 7
#define NR_PREAD64 17
#define NR_SENDFILE 40
#define NR_RESTART_SYSCALL 219
#define NR_PPOLL 271
#define NR_PREADV 295
#define NR_PWRITEV2 328

struct user_pollfd {
	__s32 fd;
	__s16 events;
	__s16 revents;
};

static __always_inline bool has_fd_argument(__s32 nr)
{
	switch (nr) {
	case 0:   /* read */
	case 1:   /* write */
	case 16:  /* ioctl */
	case 17:  /* pread64 */
	case 18:  /* pwrite64 */
	case 19:  /* readv */
	case 20:  /* writev */
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 72:  /* fcntl */
	case 73:  /* flock */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 77:  /* ftruncate */
	case 78:  /* getdents */
	case 187: /* readahead */
	case 217: /* getdents64 */
	case 232: /* epoll_wait */
	case 277: /* sync_file_range */
	case 281: /* epoll_pwait */
	case 285: /* fallocate */
	case 288: /* accept4 */
	case 295: /* preadv */
	case 296: /* pwritev */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
	case 327: /* preadv2 */
	case 328: /* pwritev2 */
	case 441: /* epoll_pwait2 */
		return true;
	}
	return false;
}

static __always_inline struct file *file_of_fd(struct task_struct *task, __s32 fd)
{
	struct files_struct *files = task->files;
	struct fdtable *fdt;
	struct file **array;
	struct file *file = NULL;

	if (fd < 0 || !files)
		return NULL;
	fdt = files->fdt;
	if (!fdt || (__u32)fd >= fdt->max_fds)
		return NULL;
	array = fdt->fd;
	bpf_probe_read_kernel(&file, sizeof(file), &array[(__u32)fd]);
	return file;
}

/* The file position that the call names, else the file's own. */
static __always_inline __u64 asked_position(const struct task_ctx *t, struct file *file)
{
	if (t->nr == NR_PREAD64 || t->nr == 18 || (t->nr >= NR_PREADV && t->nr <= 296) ||
	    t->nr == 327 || t->nr == NR_PWRITEV2)
		return t->args[3];
	return BPF_CORE_READ(file, f_pos);
}

static __always_inline void note_file(struct task_struct *task, struct task_ctx *t)
{
	struct file *file = file_of_fd(task, t->fd);
	struct inode *inode;

	if (!file)
		return;
	inode = BPF_CORE_READ(file, f_inode);
	t->ino = BPF_CORE_READ(inode, i_ino);
	t->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	t->generation = BPF_CORE_READ(inode, i_generation);
	t->file_kind = file_kind_of(file, inode);
	t->pos = asked_position(t, file);
}

static __always_inline void forget_wait(struct task_ctx *t)
{
	t->nr = -1;
	t->fd = -1;
	t->file_kind = WST_FILE_NONE;
	t->args[0] = 0;
	t->args[1] = 0;
	t->args[2] = 0;
	t->args[3] = 0;
	t->ino = 0;
	t->dev = 0;
	t->generation = 0;
	t->pos = 0;
}

/*
 * Fills the description of the wait that begins. `own` says that `task` is the current one, whose
 * user memory can be read. The registers say which call was entered; only ax == -ENOSYS says that
 * it still goes on (the kernel puts it there at the entry and overwrites it at the end).
 */
static __always_inline void decode_wait(struct task_struct *task, struct task_ctx *t, __u32 state,
					bool own)
{
	struct pt_regs *regs;
	__s32 nr;

	forget_wait(t);
	/* First: a stop happens on the way out of a call, whose registers no longer tell. */
	if (state & TASK_STOPPED_TRACED_FROZEN) {
		t->wait_flags |= WST_WAIT_FREEZE;
		return;
	}
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) {
		t->wait_flags |= WST_WAIT_KERNEL;
		return;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	nr = (__s32)regs->orig_ax;
	if (nr < 0 || (long)regs->ax != -ENOSYS)
		return;
	if (task->thread_info.status & TS_COMPAT) {
		t->wait_flags |= WST_WAIT_COMPAT;
		return;
	}
	nr &= ~X32_SYSCALL_BIT;
	if (nr == NR_RESTART_SYSCALL)
		nr = t->last_nr;
	else
		t->last_nr = nr;
	t->nr = nr;
	t->args[0] = regs->di;
	t->args[1] = regs->si;
	t->args[2] = regs->dx;
	t->args[3] = regs->r10;
	if (has_fd_argument(nr)) {
		t->fd = (__s32)t->args[0];
	} else if (nr == NR_SENDFILE) {
		t->fd = (__s32)t->args[1];
	} else if ((nr == NR_POLL || nr == NR_PPOLL) && own && t->args[1]) {
		struct user_pollfd first = {.fd = -1};

		if (!bpf_probe_read_user(&first, sizeof(first), (void *)t->args[0]))
			t->fd = first.fd;
		if (t->args[1] > 1)
			t->wait_flags |= WST_WAIT_POLL_MORE;
	}
	if (t->fd >= 0)
		note_file(task, t);
}

static __always_inline void emit_wait(struct task_struct *task, struct task_ctx *t, __u64 now,
				      __u32 extra_flags)
{
	struct wst_wait *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	__u32 flags = t->wait_flags | extra_flags;

	if (!r) {
		count_loss(WST_LOST_WAIT, now);
		return;
	}
	fill_header(&r->h, sizeof(*r), WST_WAIT, now);
	r->ran_ns = t->in_ns;
	r->out_ns = t->out_ns;
	r->args[0] = t->args[0];
	r->args[1] = t->args[1];
	r->args[2] = t->args[2];
	r->args[3] = t->args[3];
	r->ino = t->ino;
	r->pos = t->pos;
	r->dev = t->dev;
	r->generation = t->generation;
	r->tid = task->pid;
	r->tgid = task->tgid;
	r->nr = t->nr;
	r->state = t->state;
	r->cpu_out = t->cpu_out;
	r->file_kind = t->file_kind;
	r->reserved = 0;
	r->major_faults = t->major_faults;
	r->reserved2 = 0;
	if (extra_flags & WST_WAIT_OPEN) /* made by the dump, which runs on any CPU */
		r->h.cpu = task->thread_info.cpu;
	if (t->wake_ns > t->in_ns && t->wake_ns) {
		flags |= WST_WAIT_WOKEN;
		r->wake_ns = t->wake_ns;
		r->waker_tid = t->waker_tid;
		r->waker_tgid = t->waker_tgid;
		r->waker_nr = t->waker_nr;
		r->waker_context = t->waker_context;
		r->waker_vec = t->waker_vec;
	} else {
		r->wake_ns = 0;
		r->waker_tid = 0;
		r->waker_tgid = 0;
		r->waker_nr = -1;
		r->waker_context = 0;
		r->waker_vec = 0;
	}
	r->flags = flags;
	submit(r);
}

/* The run that is going on, or the last one of a task that ends: nothing else would record it. */
static __always_inline void emit_run(struct task_struct *task, const struct task_ctx *t, __u64 now)
{
	struct wst_wait *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);

	if (!r) {
		count_loss(WST_LOST_WAIT, now);
		return;
	}
	__builtin_memset(r, 0, sizeof(*r));
	fill_header(&r->h, sizeof(*r), WST_WAIT, now);
	r->ran_ns = t->in_ns;
	r->out_ns = now;
	r->tid = task->pid;
	r->tgid = task->tgid;
	r->nr = -1;
	r->waker_nr = -1;
	r->major_faults = (__u32)task->maj_flt;
	r->flags = WST_WAIT_RUNNING | WST_WAIT_OPEN;
	submit(r);
}

#endif
