/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * The path of a file, walked from its dentry to the root of its mount namespace, once per file.
 */
#ifndef WHYSTALL_BPF_PATH_H
#define WHYSTALL_BPF_PATH_H

#include "common.h"

#define PATH_STEPS 64
#define NAME_LEN 256

struct path_walk {
	struct dentry *dentry;
	struct vfsmount *vfsmount;
	__u64 used;
	__u32 truncated;
	__u32 done;
	struct wst_file file; /* and its path, which must follow at once */
	char path[WST_PATH_MAX + NAME_LEN];
};

/* sched_switch runs with interrupts off and does not nest, so one area per CPU is safe. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct path_walk);
} path_walks SEC(".maps") __weak;

struct file_key {
	__u64 ino;
	__u32 dev;
	__u32 generation;
};

enum known_path {
	KNOWN_WHILE_LOOKED_UP = 1,
	KNOWN_WHILE_OPEN = 2,
};

/* Files whose path is already in the recording: enum known_path. One that was told while it was
 * looked up is told again when it is waited for, since it may have been deleted meanwhile. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct file_key);
	__type(value, __u8);
} known_files SEC(".maps") __weak;

static long path_step(__u32 index, void *unused)
{
	__u32 zero = 0;
	struct path_walk *w = bpf_map_lookup_elem(&path_walks, &zero);
	struct dentry *dentry, *parent;
	struct vfsmount *vfsmount;
	__u64 used;
	long n;

	if (!w)
		return 1;
	dentry = w->dentry;
	vfsmount = w->vfsmount;
	parent = BPF_CORE_READ(dentry, d_parent);
	if (dentry == BPF_CORE_READ(vfsmount, mnt_root)) {
		struct mount *mount = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
		struct mount *above = BPF_CORE_READ(mount, mnt_parent);

		if (above == mount) {
			w->done = 1;
			return 1;
		}
		w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		w->vfsmount = (void *)above + bpf_core_field_offset(struct mount, mnt);
		return 0;
	}
	if (parent == dentry) { /* a tree that is mounted nowhere */
		w->done = 1;
		return 1;
	}
	used = w->used;
	asm volatile("" : "+r"(used));
	if (used >= WST_PATH_MAX - 1) {
		w->truncated = 1;
		return 1;
	}
	n = bpf_probe_read_kernel_str(&w->path[used], NAME_LEN, BPF_CORE_READ(dentry, d_name.name));
	if (n <= 0) {
		w->truncated = 1;
		return 1;
	}
	w->used = used + n;
	w->dentry = parent;
	return 0;
}

/* The path of what `key` names, at `path`, a struct path in the kernel's memory. */
static __always_inline void emit_file(const struct path *path, const struct file_key *key, __u8 how,
				      __u64 now)
{
	__u32 zero = 0;
	struct path_walk *w = bpf_map_lookup_elem(&path_walks, &zero);
	struct inode *inode = BPF_CORE_READ(path, dentry, d_inode);
	__u64 used, size;
	__u8 *known = bpf_map_lookup_elem(&known_files, key);

	if (!w || (known && *known >= how))
		return;
	w->dentry = BPF_CORE_READ(path, dentry);
	w->vfsmount = BPF_CORE_READ(path, mnt);
	w->used = 0;
	w->truncated = 0;
	w->done = 0;
	bpf_loop(PATH_STEPS, path_step, NULL, 0);
	used = w->used;
	asm volatile("" : "+r"(used));
	if (used > WST_PATH_MAX)
		used = WST_PATH_MAX;
	size = sizeof(struct wst_file) + used;
	fill_header(&w->file.h, size, WST_FILE, now);
	w->file.ino = key->ino;
	w->file.dev = key->dev;
	w->file.generation = key->generation;
	w->file.bytes = BPF_CORE_READ(inode, i_size);
	w->file.fs_magic = BPF_CORE_READ(inode, i_sb, s_magic);
	w->file.flags = (w->truncated || !w->done ? WST_PATH_TRUNCATED : 0) |
			(BPF_CORE_READ(inode, i_nlink) ? 0 : WST_PATH_DELETED);
	w->file.path_len = used;
	bpf_probe_read_kernel_str(w->file.fs_type, sizeof(w->file.fs_type),
				  BPF_CORE_READ(inode, i_sb, s_type, name));
	if (bpf_ringbuf_output(&records, &w->file, size, BPF_RB_NO_WAKEUP)) {
		count_loss(WST_LOST_FILE, now);
		return;
	}
	bpf_map_update_elem(&known_files, key, &how, BPF_ANY);
}

#endif
