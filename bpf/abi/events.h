/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * Records that the kernel side emits. Included by clang -target bpf and by C++.
 * All times are CLOCK_MONOTONIC nanoseconds. Numbers are append-only: never renumber, never reuse;
 * new fields go at a record's end and readers take min(size, known).
 */
#ifndef WHYSTALL_ABI_EVENTS_H
#define WHYSTALL_ABI_EVENTS_H

#include <linux/types.h>

#ifdef __cplusplus
#define WST_ASSERT_SIZE(type, bytes)                                                               \
	static_assert(sizeof(struct type) == (bytes), #type " has another size")
#else
#define WST_ASSERT_SIZE(type, bytes)                                                               \
	_Static_assert(sizeof(struct type) == (bytes), #type " has another size")
#endif

#define WST_COMM_LEN 16
#define WST_PATH_MAX 2048

enum wst_kind {
	WST_TASK = 1,  /* a task that later records name: identity, parent, command name */
	WST_EXIT = 2,  /* a target task ended */
	WST_WAIT = 3,  /* one stay off the CPU, with the run on the CPU before it */
	WST_SLICE = 4, /* who ran on a CPU while a target was runnable there */
	WST_FILE = 5,  /* a regular file that a target waited for: path, file system */
	WST_API = 6,   /* one call of the accelerator's driver API */
	WST_LOSS = 7,  /* records that found no room: how many, from when to when */
	WST_QUIET = 8, /* a recruited task's waits are no longer emitted from here on */
};

struct wst_hdr {
	__u16 size; /* bytes of the whole record */
	__u8 kind;
	__u8 reserved;
	__u32 cpu;
	__u64 ts;
};
WST_ASSERT_SIZE(wst_hdr, 16);

enum wst_task_flag {
	WST_TASK_TARGET = 1 << 0,
	WST_TASK_KERNEL = 1 << 1,    /* kernel thread, io-wq or user worker */
	WST_TASK_RECRUITED = 1 << 2, /* not a target; emits because it woke one */
	WST_TASK_BORN = 1 << 3,      /* seen from its first instruction on */
};

struct wst_task {
	struct wst_hdr h;
	__u64 start_ns; /* with tid, the identity of the task */
	__u32 tid;
	__u32 tgid;
	__u32 ppid;
	__u32 flags;
	char comm[WST_COMM_LEN];
};
WST_ASSERT_SIZE(wst_task, 56);

struct wst_exit {
	struct wst_hdr h;
	__u32 tid;
	__u32 tgid;
};
WST_ASSERT_SIZE(wst_exit, 24);

enum wst_wait_flag {
	WST_WAIT_BLOCKED = 1 << 0, /* slept; otherwise it stayed runnable (preempted, yielded) */
	WST_WAIT_IOWAIT = 1 << 1,  /* the kernel counted the sleep as waiting for I/O */
	WST_WAIT_WOKEN = 1 << 2,   /* wake_ns and the waker are valid */
	WST_WAIT_OPEN = 1 << 3,    /* not over: emitted by the dump, h.ts is its time */
	WST_WAIT_RUNNING = 1 << 4, /* no wait: on the CPU at the time of the dump, since ran_ns */
	WST_WAIT_BORN = 1 << 5,    /* from its creation to its first run */
	WST_WAIT_BEFORE = 1 << 6, /* began before the attach: out_ns is the attach, a lower bound */
	WST_WAIT_NO_FILE = 1 << 7, /* the descriptor changed its file while it waited: no object */
	WST_WAIT_KERNEL = 1 << 8,  /* kernel thread or worker: registers say nothing */
	WST_WAIT_COMPAT = 1 << 9,  /* 32-bit system call: nr is not decoded */
	WST_WAIT_FREEZE = 1 << 10, /* stopped, traced or frozen */
	WST_WAIT_MIGRATED = 1 << 12,  /* moved to another CPU while it was runnable */
	WST_WAIT_POLL_MORE = 1 << 11, /* poll() on several: the object is the first */
};

/* Where a wake-up came from (hazard: `current` is not the waker in interrupt context). */
enum wst_wake_context {
	WST_CTX_TASK = 0,
	WST_CTX_SOFTIRQ = 1, /* waker_vec: the softirq's number */
	WST_CTX_HARDIRQ = 2,
	WST_CTX_TIMER = 3,    /* an hrtimer expired */
	WST_CTX_LOCALNET = 4, /* NET_RX under the waker's own send: the waker counts */
};

enum wst_file_kind {
	WST_FILE_NONE = 0,
	WST_FILE_REGULAR = 1,
	WST_FILE_DIRECTORY = 2,
	WST_FILE_CHAR = 3,
	WST_FILE_BLOCK = 4,
	WST_FILE_PIPE = 5,
	WST_FILE_SOCKET = 6, /* of a family that is not told apart */
	WST_FILE_ANON = 7,   /* of a kind that is not told apart */
	WST_FILE_OTHER = 8,
	WST_FILE_UNIX = 9,
	WST_FILE_INET = 10, /* IPv4 and IPv6 */
	WST_FILE_EVENTFD = 11,
	WST_FILE_EPOLL = 12,
	WST_FILE_TIMERFD = 13,
	WST_FILE_SIGNALFD = 14,
	WST_FILE_INOTIFY = 15,
	WST_FILE_PIDFD = 16,
	WST_FILE_MEMFD = 17,
	WST_FILE_IO_URING = 18,
};

struct wst_wait {
	struct wst_hdr h; /* ts: when it ran again */
	__u64 ran_ns;     /* on the CPU from here to out_ns; 0 when not known */
	__u64 out_ns;
	__u64 wake_ns;
	__u64 args[4];
	__u64 ino;
	__u64 pos; /* file offset that the call asked for */
	__u32 dev; /* kernel encoding: major << 20 | minor */
	__u32 generation;
	__u32 tid;
	__u32 tgid;
	__s32 nr; /* system call, -1: none (page fault, preempted in user space) */
	__u32 state;
	__u32 flags;
	__u32 cpu_out;
	__u32 waker_tid;
	__u32 waker_tgid;
	__s32 waker_nr; /* the waker's own system call, -1: none or not task context */
	__u8 waker_context;
	__u8 waker_vec;
	__u8 file_kind;
	__u8 reserved;
	__u32 major_faults; /* of the task at out_ns: rises when a wait was a page fault's */
	__u32 reserved2;
};
WST_ASSERT_SIZE(wst_wait, 144);

struct wst_slice {
	struct wst_hdr h; /* ts: end */
	__u64 start_ns;
	__u32 tid;
	__u32 tgid;
	char comm[WST_COMM_LEN];
};
WST_ASSERT_SIZE(wst_slice, 48);

enum wst_file_flag {
	WST_PATH_TRUNCATED = 1 << 0,
	WST_PATH_DELETED = 1 << 1,
};

struct wst_file {
	struct wst_hdr h;
	__u64 ino;
	__u64 bytes;
	__u32 dev;
	__u32 generation;
	__u32 fs_magic;
	__u16 flags;
	__u16 path_len;
	char fs_type[16];
	/* path_len bytes follow: the components from the leaf to the root, each ended by a NUL */
};
WST_ASSERT_SIZE(wst_file, 64);

/* What a driver call does to the device's work. */
enum wst_api_kind {
	WST_API_SUBMIT = 1,       /* puts work on a stream; ts = entry */
	WST_API_SYNC_STREAM = 2,  /* returned: all work of the stream was done; ts = return */
	WST_API_SYNC_CONTEXT = 3, /* returned: all work of the context was done */
	WST_API_SYNC_EVENT = 4,   /* returned: all work before the event's last record was done */
	WST_API_RECORD_EVENT = 5, /* ts = entry */
	WST_API_CONTEXT = 7,   /* the thread's context becomes `event`; ~0: one that is not known */
	WST_API_SYNC_COPY = 6, /* a submit that returns when its stream is done */
};

struct wst_api {
	struct wst_hdr h;
	__u64 entry_ns;
	__u64 stream; /* handle, after 0 has become the legacy or per-thread handle; ~0 not known */
	__u64 event;
	__u32 tid;
	__u32 tgid;
	__u16 call;   /* enum wst_api_kind */
	__u16 symbol; /* index into the recording's list of probed symbols */
	__s32 ret;    /* the driver's result; 0 for records made at the entry */
};
WST_ASSERT_SIZE(wst_api, 56);

#define WST_STREAM_LEGACY 1ULL
#define WST_STREAM_PER_THREAD 2ULL
#define WST_STREAM_UNKNOWN (~0ULL)

enum wst_loss_class {
	WST_LOST_WAIT = 0,
	WST_LOST_SLICE = 1,
	WST_LOST_FILE = 2,
	WST_LOST_API = 3,
	WST_LOST_TASK = 4,
	WST_LOST_STORAGE = 5, /* scheduler events of tasks that had no storage yet */
	WST_LOSS_CLASSES = 6,
};

struct wst_loss {
	struct wst_hdr h;
	__u64 first_ns;
	__u64 last_ns;
	__u64 count;
	__u32 loss_class;
	__u32 reserved;
};
WST_ASSERT_SIZE(wst_loss, 48);

/* How a probe on a driver call reads its arguments; the attach cookie. Argument numbers: 0-5
 * registers, 6 and up the stack in calling order, 255 none. */
#define WST_COOKIE(call, stream_arg, event_arg, per_thread, symbol)                                \
	((__u64)(call) | (__u64)(stream_arg) << 8 | (__u64)(event_arg) << 16 |                     \
	 (__u64)(per_thread) << 24 | (__u64)(symbol) << 32)
#define WST_ARG_NONE 255
#define WST_ARG_UNKNOWN 254 /* the call has a stream, but at a place that we do not know */

#endif
