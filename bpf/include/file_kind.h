/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * What kind of thing a descriptor stands for. Anonymous files share one inode and are told apart by
 * the name that the kernel gives their dentry.
 */
#ifndef WHYSTALL_BPF_FILE_KIND_H
#define WHYSTALL_BPF_FILE_KIND_H

#include "common.h"

/* The first eight bytes of a name, as the little-endian number that memory holds. */
#define NAME8(a, b, c, d, e, f, g, h)                                                              \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

static __always_inline __u64 dentry_name8(struct file *file)
{
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);
	char text[8] = {};
	__u64 value;

	/* Stops at the end of the name: what lies behind it is not read. */
	bpf_probe_read_kernel_str(text, sizeof(text), name);
	__builtin_memcpy(&value, text, sizeof(value));
	return value;
}

/* Names have been stable since before 6.1; bpf_probe_read_kernel_str keeps seven bytes and a NUL.
 */
static __always_inline __u8 anonymous_kind(struct file *file)
{
	switch (dentry_name8(file)) {
	case NAME8('[', 'e', 'v', 'e', 'n', 't', 'f', 0):
		return WST_FILE_EVENTFD;
	case NAME8('[', 'e', 'v', 'e', 'n', 't', 'p', 0):
		return WST_FILE_EPOLL;
	case NAME8('[', 't', 'i', 'm', 'e', 'r', 'f', 0):
		return WST_FILE_TIMERFD;
	case NAME8('[', 's', 'i', 'g', 'n', 'a', 'l', 0):
		return WST_FILE_SIGNALFD;
	case NAME8('i', 'n', 'o', 't', 'i', 'f', 'y', 0):
		return WST_FILE_INOTIFY;
	case NAME8('[', 'p', 'i', 'd', 'f', 'd', ']', 0):
		return WST_FILE_PIDFD;
	case NAME8('[', 'i', 'o', '_', 'u', 'r', 'i', 0):
		return WST_FILE_IO_URING;
	}
	return WST_FILE_ANON;
}

static __always_inline __u8 socket_kind(struct inode *inode)
{
	struct socket_alloc *alloc =
		(void *)inode - bpf_core_field_offset(struct socket_alloc, vfs_inode);

	switch (BPF_CORE_READ(alloc, socket.sk, __sk_common.skc_family)) {
	case AF_UNIX:
		return WST_FILE_UNIX;
	case AF_INET:
	case AF_INET6:
		return WST_FILE_INET;
	}
	return WST_FILE_SOCKET;
}

static __always_inline __u8 kind_by_inode(struct file *file, struct inode *inode)
{
	unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);
	umode_t mode = BPF_CORE_READ(inode, i_mode);

	/* Before the mode: since 6.16 (cfd86ef7e8e7) anonymous inodes carry that of a regular file.
	 */
	if (magic == ANON_INODE_FS_MAGIC)
		return anonymous_kind(file);
	if (magic == PID_FS_MAGIC) /* since 6.9 */
		return WST_FILE_PIDFD;
	if (magic == MQUEUE_MAGIC)
		return WST_FILE_MQUEUE;
	switch (mode & S_IFMT) {
	case S_IFREG:
		if (magic == TMPFS_MAGIC && (dentry_name8(file) & 0xffffffffffffULL) ==
						    NAME8('m', 'e', 'm', 'f', 'd', ':', 0, 0))
			return WST_FILE_MEMFD;
		return WST_FILE_REGULAR;
	case S_IFDIR:
		return WST_FILE_DIRECTORY;
	case S_IFCHR:
		return WST_FILE_CHAR;
	case S_IFBLK:
		return WST_FILE_BLOCK;
	case S_IFIFO:
		return WST_FILE_PIPE;
	case S_IFSOCK:
		return socket_kind(inode);
	}
	return WST_FILE_OTHER;
}

/* `file` is a struct file; see wst_identify_file for why it is no static function. */
__weak int wst_file_kind(__u64 file)
{
	struct file *f = (struct file *)file;

	return kind_by_inode(f, BPF_CORE_READ(f, f_inode));
}

#endif
