/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * What a task that leaves the CPU waits for, read from its saved user registers and its file table.
 * No system-call tracepoint is needed, so a call that does not block costs nothing.
 */
#ifndef WHYSTALL_BPF_WAIT_H
#define WHYSTALL_BPF_WAIT_H

#include "common.h"
#include "file_kind.h"
#include "foreign_calls.h"

#define NO_DESCRIPTOR (-1)
#define IDTYPE_PIDFD 3

struct user_pollfd {
	__s32 fd;
	__s16 events;
	__s16 revents;
};

/* Which argument is the descriptor that the call waits on; -1 none. */
__weak int wst_descriptor_argument(__u32 nr)
{
	switch (nr) {
	case WST_NR_READ:
	case WST_NR_WRITE:
	case WST_NR_FSTAT:
	case WST_NR_IOCTL:
	case WST_NR_PREAD64:
	case WST_NR_PWRITE64:
	case WST_NR_READV:
	case WST_NR_WRITEV:
	case WST_NR_CONNECT:
	case WST_NR_ACCEPT:
	case WST_NR_SENDTO:
	case WST_NR_RECVFROM:
	case WST_NR_SENDMSG:
	case WST_NR_RECVMSG:
	case WST_NR_FCNTL:
	case WST_NR_FLOCK:
	case WST_NR_FSYNC:
	case WST_NR_FDATASYNC:
	case WST_NR_FTRUNCATE:
	case WST_NR_GETDENTS:
	case WST_NR_READAHEAD:
	case WST_NR_GETDENTS64:
	case WST_NR_EPOLL_WAIT:
	case WST_NR_MQ_TIMEDSEND:
	case WST_NR_MQ_TIMEDRECEIVE:
	case WST_NR_SPLICE:
	case WST_NR_TEE:
	case WST_NR_SYNC_FILE_RANGE:
	case WST_NR_VMSPLICE:
	case WST_NR_EPOLL_PWAIT:
	case WST_NR_FALLOCATE:
	case WST_NR_ACCEPT4:
	case WST_NR_PREADV:
	case WST_NR_PWRITEV:
	case WST_NR_RECVMMSG:
	case WST_NR_SYNCFS:
	case WST_NR_SENDMMSG:
	case WST_NR_COPY_FILE_RANGE:
	case WST_NR_PREADV2:
	case WST_NR_PWRITEV2:
	case WST_NR_IO_URING_ENTER:
	case WST_NR_EPOLL_PWAIT2:
		return 0;
	case WST_NR_SENDFILE:
		return 1;
	}
	return -1;
}

static __always_inline bool waits_on_many(__s32 nr)
{
	return nr == WST_NR_POLL || nr == WST_NR_PPOLL || nr == WST_NR_SELECT ||
	       nr == WST_NR_PSELECT6 || nr == WST_NR_EPOLL_WAIT || nr == WST_NR_EPOLL_PWAIT ||
	       nr == WST_NR_EPOLL_PWAIT2 || nr == WST_NR_IO_URING_ENTER;
}

/* A task's table of open files. */
struct open_files {
	struct file **array;
	__u32 count;
	__u32 reserved; /* no padding: all of it must be set to be passed on */
};

static __always_inline struct open_files open_files_of(struct task_struct *task)
{
	struct open_files open = {};
	struct files_struct *files = task->files;
	struct fdtable *fdt;

	if (!files)
		return open;
	fdt = files->fdt;
	if (!fdt)
		return open;
	open.array = fdt->fd;
	open.count = fdt->max_fds;
	return open;
}

static __always_inline struct file *file_at(const struct open_files *open, __s32 fd)
{
	struct file *file = NULL;

	if (fd < 0 || (__u32)fd >= open->count)
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), &open->array[(__u32)fd]);
	return file;
}

/* What the polled descriptors stand for now. */
__weak int wst_look_up_polled(struct task_ctx *t, const struct open_files *open)
{
	if (!t || !open)
		return 0;
	for (__u32 i = 0; i < WST_MAX_POLLED; i++) {
		if (i < t->polled_count)
			t->polled_files[i] = (__u64)file_at(open, t->polled[i]);
	}
	return 0;
}

static __always_inline struct file *file_of_fd(struct task_struct *task, __s32 fd)
{
	struct open_files open;

	if (fd < 0)
		return NULL;
	open = open_files_of(task);
	return file_at(&open, fd);
}

static __always_inline bool request_has_position(__u64 opcode)
{
	return opcode == IORING_OP_READV || opcode == IORING_OP_WRITEV ||
	       opcode == IORING_OP_READ_FIXED || opcode == IORING_OP_WRITE_FIXED ||
	       opcode == IORING_OP_READ || opcode == IORING_OP_WRITE;
}

/* The file position that the call names, else the file's own. */
static __always_inline __u64 asked_position(const struct task_ctx *t, struct file *file)
{
	if (t->wait_flags & WST_WAIT_IO_WORKER && request_has_position(t->args[0]))
		return t->args[3];
	switch (t->nr) {
	case WST_NR_PREAD64:
	case WST_NR_PWRITE64:
	case WST_NR_PREADV:
	case WST_NR_PWRITEV:
	case WST_NR_PREADV2:
	case WST_NR_PWRITEV2:
		return t->args[3];
	}
	return BPF_CORE_READ(file, f_pos);
}

/*
 * What the file of the wait is. At the end of the wait: most waits are too short to ask.
 *
 * Functions like this one, which are not static, are verified by themselves, once. Inlined, the
 * paths through them multiply with those before and after, and the load takes seconds.
 */
__weak int wst_identify_file(struct task_ctx *t)
{
	struct file *file;
	struct inode *inode;

	if (!t)
		return 0;
	file = (struct file *)t->file;
	inode = BPF_CORE_READ(file, f_inode);
	t->ino = BPF_CORE_READ(inode, i_ino);
	t->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	t->generation = BPF_CORE_READ(inode, i_generation);
	t->rdev = BPF_CORE_READ(inode, i_rdev);
	t->file_kind = wst_file_kind((__u64)file);
	t->pos = asked_position(t, file);
	return 0;
}

static __always_inline void forget_file(struct task_ctx *t)
{
	t->file_kind = WST_FILE_NONE;
	t->ino = 0;
	t->dev = 0;
	t->generation = 0;
	t->rdev = 0;
	t->pos = 0;
}

#define MODE_TYPE 0170000
#define MODE_FIFO 0010000
#define MODE_DIRECTORY 0040000
#define MODE_REGULAR 0100000

/* How far the look-up of a name has come: a directory, or what the name stands for. */
__weak int wst_identify_place(__u64 path, struct task_ctx *t)
{
	struct inode *inode = BPF_CORE_READ((struct path *)path, dentry, d_inode);
	__u32 type;

	if (!t || !inode)
		return 0;
	t->ino = BPF_CORE_READ(inode, i_ino);
	t->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	t->generation = BPF_CORE_READ(inode, i_generation);
	type = BPF_CORE_READ(inode, i_mode) & MODE_TYPE;
	t->file_kind = type == MODE_DIRECTORY ? WST_FILE_DIRECTORY
		       : type == MODE_REGULAR ? WST_FILE_REGULAR
		       : type == MODE_FIFO    ? WST_FILE_PIPE
					      : WST_FILE_OTHER;
	return 0;
}

/*
 * A thread that touched a page of a mapped file and now waits outside of any call. The mapping
 * holds the inode, so it is described at once.
 */
__weak int wst_identify_fault(struct task_ctx *t)
{
	struct inode *inode;

	if (!t)
		return 0;
	inode = (struct inode *)t->fault_inode;
	t->ino = BPF_CORE_READ(inode, i_ino);
	t->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	t->generation = BPF_CORE_READ(inode, i_generation);
	t->pos = t->fault_pos;
	t->file_kind = WST_FILE_REGULAR;
	t->wait_flags |= WST_WAIT_FAULT;
	return 0;
}

static __always_inline void forget_wait(struct task_ctx *t)
{
	t->nr = -1;
	t->fd = NO_DESCRIPTOR;
	t->file = 0;
	t->args[0] = 0;
	t->args[1] = 0;
	t->args[2] = 0;
	t->args[3] = 0;
	t->polled_count = 0;
	t->polled_total = 0;
	forget_file(t);
}

/* An io_uring worker waits for what its request is on. */
static __always_inline void decode_io_worker(struct task_struct *task, struct task_ctx *t)
{
	struct io_worker *worker = BPF_CORE_READ(task, worker_private);
	struct io_wq_work *work = BPF_CORE_READ(worker, cur_work);
	struct io_kiocb *request;

	if (!worker || !work)
		return;
	request = (void *)work - bpf_core_field_offset(struct io_kiocb, work);
	t->wait_flags |= WST_WAIT_IO_WORKER;
	t->args[0] = BPF_CORE_READ(request, opcode);
	if (request_has_position(t->args[0]))
		t->args[3] = BPF_CORE_READ((struct kiocb *)request, ki_pos);
	t->file = (__u64)BPF_CORE_READ(request, file);
}

/* FUTEX_WAIT on a pthread mutex: the word, and the owner that glibc keeps eight bytes behind it. */
static __always_inline void read_futex(struct task_ctx *t)
{
	__u32 mutex[3];
	__u32 command = t->args[1] & WST_FUTEX_COMMAND;

	if (command != WST_FUTEX_WAIT && command != WST_FUTEX_WAIT_BITSET &&
	    command != WST_FUTEX_LOCK_PI && command != WST_FUTEX_LOCK_PI2)
		return;
	if (bpf_probe_read_user(mutex, sizeof(mutex), (void *)t->args[0]))
		return;
	t->futex_word = mutex[0];
	t->futex_owner = mutex[2];
	t->wait_flags |= WST_WAIT_FUTEX_WORD;
}

static __always_inline void read_poll(struct task_ctx *t)
{
	struct user_pollfd fds[WST_MAX_POLLED];
	__u64 total = t->args[1];
	__u32 count = total > WST_MAX_POLLED ? WST_MAX_POLLED : total;

	t->polled_total = total;
	if (!count || bpf_probe_read_user(fds, count * sizeof(fds[0]), (void *)t->args[0]))
		return;
	for (__u32 i = 0; i < WST_MAX_POLLED; i++) {
		if (i < count)
			t->polled[i] = fds[i].fd;
	}
	t->polled_count = count;
	t->fd = t->polled[0];
}

struct select_walk {
	struct task_ctx *t;
	__u64 bits;
	__u32 first; /* descriptor of the lowest bit */
};

static long note_bit(__u32 bit, struct select_walk *walk)
{
	struct task_ctx *t = walk->t;
	__u64 count = t->polled_count;

	if (!(walk->bits >> bit & 1))
		return 0;
	t->polled_total++;
	asm volatile("" : "+r"(count));
	if (count >= WST_MAX_POLLED)
		return 0;
	t->polled[count] = walk->first + bit;
	t->polled_count = count + 1;
	return 0;
}

/* One word of the three sets. */
static long note_word(__u32 word, struct select_walk *walk)
{
	struct task_ctx *t = walk->t;
	__u64 left = t->args[0] - 64ULL * word;
	__u64 set;

	walk->first = 64 * word;
	walk->bits = 0;
	for (int i = 1; i <= 3; i++) {
		set = 0;
		if (t->args[i] &&
		    !bpf_probe_read_user(&set, sizeof(set), (void *)(t->args[i] + 8ULL * word)))
			walk->bits |= set;
	}
	if (left < 64)
		walk->bits &= (1ULL << left) - 1;
	if (walk->bits)
		bpf_loop(64, note_bit, walk, 0);
	return 0;
}

/* As many descriptors as a set of the C library holds: 1,024. */
static __always_inline void read_select(struct task_ctx *t)
{
	struct select_walk walk = {.t = t};
	__u64 words = (t->args[0] + 63) / 64;

	bpf_loop(words > 16 ? 16 : words, note_word, &walk, 0);
	if (t->polled_count)
		t->fd = t->polled[0];
}

/* What the call's arguments point to. */
__weak int wst_read_user_memory(struct task_ctx *t)
{
	if (!t)
		return 0;
	if (t->nr == WST_NR_FUTEX)
		read_futex(t);
	else if (t->nr == WST_NR_POLL || t->nr == WST_NR_PPOLL)
		read_poll(t);
	else if (t->nr == WST_NR_SELECT || t->nr == WST_NR_PSELECT6)
		read_select(t);
	if (t->polled_total > 1)
		t->wait_flags |= WST_WAIT_POLL_MORE;
	return 0;
}

/* The arguments, and the call as x86-64 numbers it. False: none that is told apart. */
static __always_inline bool read_call(struct task_struct *task, struct task_ctx *t,
				      struct pt_regs *regs)
{
	bool compat = task->thread_info.status & TS_COMPAT;
	__s32 nr = wst_native_call(regs->orig_ax, compat);

	if (compat || regs->orig_ax & X32_SYSCALL_BIT)
		t->wait_flags |= WST_WAIT_COMPAT;
	if (compat) {
		t->args[0] = (__u32)regs->bx;
		t->args[1] = (__u32)regs->cx;
		t->args[2] = (__u32)regs->dx;
		t->args[3] = (__u32)regs->si;
		if (nr == WST_NR_PREAD64 || nr == WST_NR_PWRITE64 || nr == WST_NR_PREADV ||
		    nr == WST_NR_PWRITEV) /* the position is two words */
			t->args[3] |= (__u64)(__u32)regs->di << 32;
	} else {
		t->args[0] = regs->di;
		t->args[1] = regs->si;
		t->args[2] = regs->dx;
		t->args[3] = regs->r10;
	}
	if (nr < 0)
		return false;
	if (nr == WST_NR_RESTART_SYSCALL)
		nr = t->last_nr;
	else
		t->last_nr = nr;
	t->nr = nr;
	return true;
}

/*
 * Fills the description of the wait that begins. `own` says that `task` is the current one, whose
 * user memory can be read; `whole` that it is worth it. The registers say which call was entered;
 * only ax == -ENOSYS says that it still goes on (the kernel puts it there at the entry and
 * overwrites it at the end).
 */
static __always_inline void decode_wait(struct task_struct *task, struct task_ctx *t, __u32 state,
					bool own, bool whole)
{
	struct pt_regs *regs;
	int at;

	forget_wait(t);
	/* First: a stop happens on the way out of a call, whose registers no longer tell. */
	if (state & TASK_STOPPED_TRACED_FROZEN) {
		t->wait_flags |= WST_WAIT_FREEZE;
		return;
	}
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) {
		t->wait_flags |= WST_WAIT_KERNEL;
		if (task->flags & PF_IO_WORKER)
			decode_io_worker(task, t);
		return;
	}
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if ((__s32)regs->orig_ax < 0 || (long)regs->ax != -ENOSYS)
		return;
	if (!read_call(task, t, regs))
		return;
	at = wst_descriptor_argument(t->nr);
	if (at == 0)
		t->fd = (__s32)t->args[0];
	else if (at == 1)
		t->fd = (__s32)t->args[1];
	else if (t->nr == WST_NR_WAITID && (__s32)t->args[0] == IDTYPE_PIDFD)
		t->fd = (__s32)t->args[1];
	if (own && whole)
		wst_read_user_memory(t);
	if (t->polled_count > 1) {
		struct open_files open = open_files_of(task);

		wst_look_up_polled(t, &open);
	}
	if (t->fd >= 0)
		t->file = (__u64)file_of_fd(task, t->fd);
}

/*
 * Whether the file of the wait is still the one that the descriptor names. The call holds its file
 * for as long as it waits, so an equal pointer is the same file; another one, or none, means that
 * the descriptor was closed meanwhile, and the wait has no name.
 */
static __always_inline bool file_is_the_same(struct task_struct *task, struct task_ctx *t)
{
	return t->fd < 0 || (__u64)file_of_fd(task, t->fd) == t->file;
}

/* Whether the wait is on a file that still has a name, which is looked up then. */
static __always_inline bool identify_if_same(struct task_struct *task, struct task_ctx *t)
{
	if (!t->file || !file_is_the_same(task, t))
		return false;
	wst_identify_file(t);
	return true;
}

/* The same at the end of a wait, when one that lost its name is marked. */
static __always_inline bool identify_at_end(struct task_struct *task, struct task_ctx *t)
{
	if (identify_if_same(task, t))
		return true;
	if (t->file)
		t->wait_flags |= WST_WAIT_NO_FILE;
	return false;
}

#endif
