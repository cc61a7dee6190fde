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
	WST_TASK = 1,     /* a task that later records name: identity, parent, command name */
	WST_EXIT = 2,     /* a target task ended */
	WST_WAIT = 3,     /* one stay off the CPU, with the run on the CPU before it */
	WST_SLICE = 4,    /* who ran on a CPU while a target was runnable there */
	WST_FILE = 5,     /* a regular file that a target waited for: path, file system */
	WST_API = 6,      /* one call of the accelerator's driver API */
	WST_LOSS = 7,     /* records that found no room: how many, from when to when */
	WST_QUIET = 8,    /* a recruited task's waits are no longer emitted from here on */
	WST_SUMS = 9,     /* waits that were added up: a thread's short ones, or a task's journal */
	WST_MIGRATE = 10, /* a runnable task was moved to another CPU */
	WST_POLLSET = 11, /* what a poll() or select() on several files waited for */
	WST_END = 12,     /* who holds an end of a pipe, a socket or an event that was waited for */
	WST_SAMPLE = 13,  /* where a target thread was on the CPU, 99 times a second */
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
	__u32 ns_tid; /* the number that the task has in its own process namespace */
	__u32 reserved;
};
WST_ASSERT_SIZE(wst_task, 64);

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
	WST_WAIT_COMPAT = 1 << 9,  /* 32-bit system call; nr is the 64-bit one that does the same */
	WST_WAIT_FREEZE = 1 << 10, /* stopped, traced or frozen */
	WST_WAIT_POLL_MORE = 1 << 11,  /* poll() on several: the object is the first */
	WST_WAIT_MIGRATED = 1 << 12,   /* moved to another CPU while it was runnable */
	WST_WAIT_FUTEX_WORD = 1 << 13, /* futex_word and futex_owner were read */
	WST_WAIT_IO_WORKER = 1 << 14,  /* io-wq: the file is its request's, args[0] the operation */
	WST_WAIT_QUOTA = 1 << 15,      /* throttled_ns is known */
	WST_WAIT_UNSEEN = 1 << 16,     /* its return was not seen: it may have come after h.ts */
	WST_WAIT_FAULT = 1 << 17,      /* for a page of a mapped file, which is the object */
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
	WST_FILE_MQUEUE = 19,
};

struct wst_wait {
	struct wst_hdr h; /* ts: when it ran again */
	/* On the CPU from here to out_ns, but for short waits in between; 0 when not known. */
	__u64 ran_ns;
	__u64 out_ns;
	__u64 wake_ns;
	__u64 args[4];
	__u64 ino;
	__u64 pos; /* file offset that the call asked for */
	__u32 dev; /* kernel encoding: major << 20 | minor */
	__u32 generation;
	__u32 tid;
	__u32 tgid;
	__s32 nr; /* system call of x86-64, -1: none (page fault, preempted in user space) */
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
	__u32 rdev;         /* of a device file, kernel encoding */
	/* Of the waits of this thread that were too short for a record, since it was first seen:
	 * how long they were before out_ns. */
	__u64 short_blocked_ns;
	__u64 short_runnable_ns;
	__u64 throttled_ns; /* of the runnable time, under its cgroup's CPU quota */
	__u64 waker_ino;    /* what the waker's call was on, where the wait was for several files */
	__u32 futex_word;   /* at out_ns */
	__u32 futex_owner;  /* the word at +8, where a pthread mutex keeps its owner (ns_tid) */
};
WST_ASSERT_SIZE(wst_wait, 184);

/*
 * Waits of one thread on one object, ended by one waker, that were added up. The last one is told
 * whole; blocked_ns and runnable_ns are of all of them.
 */
struct wst_sum {
	__u64 first_ns; /* the first one's out_ns */
	__u64 out_ns;   /* the last one */
	__u64 wake_ns;
	__u64 in_ns;
	__u64 blocked_ns;
	__u64 runnable_ns;
	__u64 object; /* inode; for a futex its address */
	__u32 dev;
	__u32 waker_tid;
	__u32 waker_tgid;
	__s32 nr;
	__s32 waker_nr;
	__u32 count;
	__u32 flags; /* enum wst_wait_flag, of the last */
	__u8 file_kind;
	__u8 waker_context;
	__u8 waker_vec;
	__u8 reserved;
};
WST_ASSERT_SIZE(wst_sum, 88);

#define WST_MAX_SUMS 16

enum wst_sums_flag {
	WST_SUMS_JOURNAL = 1 << 0,  /* the past of a task that was not watched, however long */
	WST_SUMS_SNAPSHOT = 1 << 1, /* a later one with the same from_ns replaces it */
};

/* From from_ns to h.ts the thread was on the CPU, but for what is told here. */
struct wst_sums {
	struct wst_hdr h;
	__u64 from_ns;
	__u64 short_blocked_ns; /* as in wst_wait, these included */
	__u64 short_runnable_ns;
	__u32 tid;
	__u32 tgid;
	__u32 count; /* wst_sum that follow */
	__u32 flags;
};
WST_ASSERT_SIZE(wst_sums, 56);

struct wst_migrate {
	struct wst_hdr h;
	__u32 tid;
	__u32 tgid;
	__u32 from_cpu;
	__u32 to_cpu;
};
WST_ASSERT_SIZE(wst_migrate, 32);

#define WST_MAX_POLLED 8

struct wst_polled {
	__u64 ino;
	__u32 dev;
	__s32 fd;
	__u8 file_kind;
	__u8 reserved[7];
};
WST_ASSERT_SIZE(wst_polled, 24);

struct wst_pollset {
	struct wst_hdr h;
	__u64 out_ns; /* with tid: whose wait */
	__u32 tid;
	__u32 tgid;
	__u32 count; /* entries of `files` that are filled */
	__u32 total; /* how many the call named */
	struct wst_polled files[WST_MAX_POLLED];
};
WST_ASSERT_SIZE(wst_pollset, 232);

enum wst_end_flag {
	WST_END_READS = 1 << 0,
	WST_END_WRITES = 1 << 1,
	WST_END_LISTENS = 1 << 2,
};

/* One open file of one process. Addresses and ports are network sockets'; IPv4 in the first four
 * bytes. */
struct wst_end {
	struct wst_hdr h;
	__u64 ino;
	__u64 peer_ino; /* unix socket: the other end's; 0 none */
	__u32 dev;
	__u32 tgid;
	__s32 fd;
	__u32 flags;
	__u8 file_kind;
	__u8 family; /* AF_INET or AF_INET6 */
	__u16 local_port;
	__u16 remote_port;
	__u16 reserved;
	__u8 local_address[16];
	__u8 remote_address[16];
};
WST_ASSERT_SIZE(wst_end, 88);

enum wst_sample_flag {
	/* In the kernel: ip is where it left user space; of sched_yield, where that returns to. */
	WST_SAMPLE_KERNEL = 1 << 0,
	WST_SAMPLE_PAUSE = 1 << 1, /* beside the instruction `pause`: in a loop that waits */
};

struct wst_sample {
	struct wst_hdr h;
	__u64 ip;
	__u32 tid;
	__u32 tgid;
	__s32 nr; /* system call, -1: none */
	__u32 flags;
	__u64 stub_ip; /* of sched_yield: where it left user space, in the C library's stub */
	__u64 top; /* in user space: the word on top of its stack, in a stub its return address */
};
WST_ASSERT_SIZE(wst_sample, 56);

struct wst_slice {
	struct wst_hdr h; /* ts: end */
	__u64 start_ns;
	__u32 tid;  /* 0: several threads of the process, one after the other */
	__u32 tgid; /* 0: several processes, not told apart */
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
	WST_API_SYNC_COPY = 6,    /* returned: a copy, told as a submit at its entry, was done */
	WST_API_CONTEXT = 7, /* the thread's context becomes `event`; ~0: one that is not known */
	WST_API_QUERY_STREAM = 8, /* returned: WST_API_DONE, or WST_API_NOT_READY and some is not */
	WST_API_QUERY_EVENT = 9,
	WST_API_WAIT_EVENT = 10,    /* what the stream gets from here on waits for the event */
	WST_API_STREAM_CREATE = 11, /* `stream` is new, its flags are in `event`; ts = return */
	WST_API_STREAM_DESTROY = 12,
	WST_API_EVENT_DESTROY = 13,
	WST_API_COPY = 14,   /* a copy, told as a submit at its entry, took long; ts = return */
	WST_API_MEMORY = 15, /* an allocation, a free, a registration that took long; ts = return */
	WST_API_CONTEXT_NEW = 16, /* as CONTEXT, of a context that did not exist before */
	WST_API_CONTEXT_DESTROY = 17,
	WST_API_CONTEXT_DEVICE = 18, /* the context `event` is of the device `bytes` */
};

#define WST_API_DONE 0
#define WST_API_NOT_READY 600
#define WST_API_OPEN 0x7fffffff /* `ret` of a call that has not returned: told by the dump */

/* Copies and memory calls shorter than this are not told. */
#define WST_API_LONG_NS 20000ULL
/* Submits of one thread to one stream that follow each other within this are one record. */
#define WST_API_RUN_GAP_NS 20000ULL
#define WST_API_RUN_NS 10000000ULL

/*
 * One call, or a run of calls of one thread: submits to one stream, told by ts = entry_ns (the
 * first) and last_ns; or queries of one handle with one result, told by last_ns (the last one's
 * entry) and ts (its return).
 */
struct wst_api {
	struct wst_hdr h;
	__u64 entry_ns;
	__u64 stream; /* handle, after 0 has become the legacy or per-thread handle; ~0 not known */
	__u64 event;
	__u32 tid;
	__u32 tgid;
	__u16 call;      /* enum wst_api_kind */
	__u16 symbol;    /* index into the recording's list of probed symbols */
	__s32 ret;       /* the driver's result; 0 for records made at the entry */
	__u64 last_ns;   /* the entry of the last of `count` calls; 0: of the only one */
	__u64 bytes;     /* of a copy or an allocation; the device's number of a context */
	__u64 stolen_ns; /* the hypervisor took from the CPU during the call; ~0: not known */
	__u32 count;
	__u32 submits; /* of this thread since it was first seen, these included */
};
WST_ASSERT_SIZE(wst_api, 88);

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
	WST_LOST_SAMPLE = 6,
	WST_LOST_END = 7,
	WST_LOSS_CLASSES = 8,
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
 * registers, 6 and up the stack in calling order, or one of the codes below. */
#define WST_COOKIE(call, stream_arg, event_arg, bytes_arg, per_thread, symbol)                     \
	((__u64)(call) | (__u64)(stream_arg) << 8 | (__u64)(event_arg) << 16 |                     \
	 (__u64)(per_thread) << 24 | (__u64)(symbol) << 32 | (__u64)(bytes_arg) << 48)
#define WST_ARG_NONE 255
#define WST_ARG_UNKNOWN 254 /* the call has a stream, but at a place that we do not know */
/* A field of the structure that the first argument points to, at a multiple of 8 bytes. */
#define WST_ARG_FIELD(offset) (0x80 | (offset) / 8)
/* What the call has stored where its first argument points to; read at the return. */
#define WST_ARG_RESULT 253

#endif
