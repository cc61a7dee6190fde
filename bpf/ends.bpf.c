// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Who holds the ends of the pipes, sockets and events that were waited for: one pass over the open
 * files of all processes. Credentials of a peer lie for inherited pairs; open files do not.
 */
#include "common.h"
#include "ends.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline struct inode *inode_of_sock(struct sock *sk)
{
	struct socket *socket = BPF_CORE_READ(sk, sk_socket);
	struct socket_alloc *alloc =
		(void *)socket - bpf_core_field_offset(struct socket_alloc, socket);

	if (!socket)
		return NULL;
	return (void *)alloc + bpf_core_field_offset(struct socket_alloc, vfs_inode);
}

static __always_inline void read_addresses(struct wst_end *r, struct sock *sk)
{
	if (r->family == AF_INET) {
		bpf_core_read(r->local_address, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_core_read(r->remote_address, 4, &sk->__sk_common.skc_daddr);
	} else {
		bpf_core_read(r->local_address, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(r->remote_address, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

/* Where a target listens is told in any case: it tells its clients from its servers. */
static __always_inline bool is_targets(struct task_struct *task)
{
	struct task_ctx *t = task_ctx_of(task);

	return t && is_target(t);
}

SEC("iter/task_file")
int wst_ends(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct end_key key = {}, peer = {};
	struct inode *inode;
	struct sock *sk = NULL;
	struct wst_end *r;
	__u64 peer_ino = 0;
	__u16 local = 0, remote = 0;
	bool listens = false;
	__u8 kind;

	if (!task || !file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	kind = kind_by_inode(file, inode);
	if (!has_other_end(kind))
		return 0;
	key.ino = BPF_CORE_READ(inode, i_ino);
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	if (kind == WST_FILE_UNIX) {
		struct unix_sock *other;

		sk = sock_of_inode(inode);
		other = (void *)BPF_CORE_READ((struct unix_sock *)sk, peer);
		if (other) {
			struct inode *end = inode_of_sock((struct sock *)other);

			peer_ino = end ? BPF_CORE_READ(end, i_ino) : 0;
		}
		peer.ino = peer_ino;
		peer.dev = key.dev;
	} else if (kind == WST_FILE_INET) {
		sk = sock_of_inode(inode);
		local = BPF_CORE_READ(sk, __sk_common.skc_num);
		remote = swap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
		peer = ports_key(local, remote);
	}
	if (sk && BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN)
		listens = is_targets(task);
	if (!listens && !is_wanted(&key) && !(peer.ino && is_wanted(&peer)))
		return 0;
	r = new_record(sizeof(*r), WST_END, WST_LOST_END, bpf_ktime_get_ns());
	if (!r)
		return 0;
	__builtin_memset(&r->h + 1, 0, sizeof(*r) - sizeof(r->h));
	r->ino = key.ino;
	r->dev = key.dev;
	r->peer_ino = peer_ino;
	r->tgid = task->tgid;
	r->fd = ctx->fd;
	r->file_kind = kind;
	r->local_port = local;
	r->remote_port = remote;
	if (BPF_CORE_READ(file, f_mode) & FMODE_READ)
		r->flags |= WST_END_READS;
	if (BPF_CORE_READ(file, f_mode) & FMODE_WRITE)
		r->flags |= WST_END_WRITES;
	if (sk && BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN)
		r->flags |= WST_END_LISTENS;
	if (kind == WST_FILE_INET) {
		r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
		read_addresses(r, sk);
	}
	submit(r);
	return 0;
}
