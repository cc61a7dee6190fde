/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * Kernel types with just the fields that are used. CO-RE moves each access to where the running
 * kernel has the field, so neither order nor padding matters here; names and sizes of the fields
 * do, and a test compares them with the running kernel's BTF. Types of other kernels' shape end in
 * ___name.
 */
#ifndef WHYSTALL_KERNEL_TYPES_H
#define WHYSTALL_KERNEL_TYPES_H

#include <linux/types.h>
#include <stdbool.h>

typedef __u32 u32;
typedef __u64 u64;
typedef int pid_t;
typedef long long loff_t;
typedef __u32 dev_t;
typedef unsigned short umode_t;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	unsigned int status;
	unsigned int cpu;
};

/* CONFIG_PARAVIRT */
struct rq {
	u64 prev_steal_time;
};

/* CONFIG_CFS_BANDWIDTH; what was spent throttled is told since 6.6 (677ea015f231), by another field
 * before. */
struct cfs_rq {
	struct rq *rq;
	u64 throttled_clock_pelt_time;
};

struct cfs_rq___since_6_6 {
	u64 throttled_clock_self_time;
};

struct sched_entity {
	u64 exec_start;
	struct cfs_rq *cfs_rq;
};

/* Since 6.12 (152e11f6df29): a sleeper may stay on the run queue until its lag is paid. */
struct sched_entity___delayed {
	unsigned char sched_delayed;
};

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[];
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	int on_rq;
	struct sched_entity se;
	int exit_state;
	unsigned int in_iowait : 1;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	u64 start_time;
	unsigned long maj_flt;
	char comm[16];
	struct nameidata *nameidata;
	struct files_struct *files;
	struct pid *thread_pid;
	void *worker_private;
};

struct file_system_type {
	const char *name;
};

struct super_block {
	dev_t s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
};

struct inode {
	umode_t i_mode;
	dev_t i_rdev;
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_nlink;
	u32 i_generation;
	loff_t i_size;
};

struct address_space {
	struct inode *host;
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

/* A name that is being looked up, and how far. */
struct nameidata {
	struct path path;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	loff_t f_pos;
	unsigned int f_mode;
};

/* io_uring's kernel workers: what they work on. */
struct io_wq_work {
	int cancel_seq;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

/* Lies at the beginning of a request that reads or writes (struct io_rw). */
struct kiocb {
	loff_t ki_pos;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	struct io_wq_work work;
};

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
	__u16 skc_dport;
	__u16 skc_num;
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct socket;

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
};

struct unix_sock {
	struct sock *peer;
};

struct socket {
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct pt_regs {
	unsigned long bx;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
	u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

#pragma clang attribute pop

#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD 0x00200000

#define TASK_STOPPED_TRACED_FROZEN (0x00000004 | 0x00000008 | 0x00008000)
#define TASK_DEAD 0x00000080

#define TS_COMPAT 0x0002
#define X32_SYSCALL_BIT 0x40000000

/* Of io_uring; ABI. */
#define IORING_OP_READV 1
#define IORING_OP_WRITEV 2
#define IORING_OP_READ_FIXED 4
#define IORING_OP_WRITE_FIXED 5
#define IORING_OP_READ 22
#define IORING_OP_WRITE 23

#define FMODE_READ 0x1
#define FMODE_WRITE 0x2

#define TCP_LISTEN 10

#define TIMER_SOFTIRQ 1
#define NET_RX_SOFTIRQ 3

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

#define TMPFS_MAGIC 0x01021994
#define ANON_INODE_FS_MAGIC 0x09041934
#define PID_FS_MAGIC 0x50494446
#define MQUEUE_MAGIC 0x19800202

#define S_IFMT 00170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000

#endif
