/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * Which pipes, sockets and events were waited for, so that an iterator can say later who holds
 * their other ends.
 */
#ifndef WHYSTALL_BPF_ENDS_H
#define WHYSTALL_BPF_ENDS_H

#include "common.h"
#include "file_kind.h"

/* Also stands for the two ports of the socket at the other end of a connection. */
#define PORTS_DEV 0xffffffff

struct end_key {
	__u64 ino;
	__u32 dev;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct end_key);
	__type(value, __u8);
} wanted_ends SEC(".maps") __weak;

static __always_inline struct sock *sock_of_inode(struct inode *inode)
{
	struct socket_alloc *alloc =
		(void *)inode - bpf_core_field_offset(struct socket_alloc, vfs_inode);

	return BPF_CORE_READ(alloc, socket.sk);
}

static __always_inline __u16 swap16(__u16 value)
{
	return (__u16)(value << 8 | value >> 8);
}

static __always_inline struct end_key ports_key(__u16 local, __u16 remote)
{
	struct end_key key = {.ino = (__u64)local << 16 | remote, .dev = PORTS_DEV};

	return key;
}

static __always_inline bool is_wanted(const struct end_key *key)
{
	return bpf_map_lookup_elem(&wanted_ends, key) != NULL;
}

static __always_inline void want(const struct end_key *key)
{
	__u8 one = 1;

	bpf_map_update_elem(&wanted_ends, key, &one, BPF_ANY);
}

static __always_inline bool has_other_end(__u8 file_kind)
{
	return file_kind == WST_FILE_PIPE || file_kind == WST_FILE_UNIX ||
	       file_kind == WST_FILE_INET || file_kind == WST_FILE_EVENTFD;
}

/* The file of the wait that ends now. */
static __always_inline void note_wanted(const struct task_ctx *t)
{
	struct end_key key = {.ino = t->ino, .dev = t->dev};

	if (!has_other_end(t->file_kind) || is_wanted(&key))
		return;
	want(&key);
	if (t->file_kind == WST_FILE_INET) {
		struct file *file = (struct file *)t->file;
		struct sock *sk = sock_of_inode(BPF_CORE_READ(file, f_inode));

		key = ports_key(swap16(BPF_CORE_READ(sk, __sk_common.skc_dport)),
				BPF_CORE_READ(sk, __sk_common.skc_num));
		want(&key);
	}
}

#endif
