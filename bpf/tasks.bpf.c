// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * The life of tasks: storage at their creation, marks for the targets' threads and children, and
 * the iterators that user space runs: before and after the scheduler hooks are attached, each
 * second, and when a journal is asked for.
 */
#include "api.h"
#include "common.h"
#include "emit.h"
#include "ends.h"
#include "sums.h"
#include "wait.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define MAX_ANCESTORS 32
#define CREATE_TRIES 100

/* Tasks whose journals user space asks for; the value says that one was given. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u8);
} named_tasks SEC(".maps");

static __always_inline struct task_ctx *make_ctx(struct task_struct *task)
{
	struct task_ctx *t = bpf_task_storage_get(&task_ctxs, task, 0, 0);

	if (t)
		return t;
	/* The memory comes from a small pool of this CPU, which an interrupt of this CPU fills up:
	 * where many tasks are born at once, it is empty for some microseconds (since 6.3). */
	for (int i = 0; i < CREATE_TRIES; i++) {
		t = bpf_task_storage_get(&task_ctxs, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (t)
			break;
	}
	if (!t)
		return NULL;
	/* Puts it into the task's cache, where the hooks find it also while another look-up
	 * that they interrupted holds the lock (not on 6.1). */
	bpf_task_storage_get(&task_ctxs, task, 0, 0);
	t->counted_cpu = -1;
	t->fd = NO_DESCRIPTOR;
	t->short_ns = cfg_short_ns;
	t->sums.tid = task->pid;
	t->sums.tgid = task->tgid;
	return t;
}

/* Runs in the parent, in process context. Threads and children of a target are targets. */
SEC("tp_btf/task_newtask")
int BPF_PROG(wst_newtask, struct task_struct *task)
{
	struct task_ctx *parent = task_ctx_of(bpf_get_current_task_btf());
	struct task_ctx *t = make_ctx(task);
	__u64 now = bpf_ktime_get_ns();

	if (!t) {
		count_loss(WST_LOST_STORAGE, now);
		return 0;
	}
	if (parent && is_target(parent)) {
		t->emit_until = EMIT_ALWAYS;
		t->out_ns = now;
		forget_wait(t);
		t->wait_flags = WST_WAIT_BORN;
		announce(task, t, now, WST_TASK_BORN, task->comm);
	}
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(wst_rename, struct task_struct *task, const char *comm)
{
	struct task_ctx *t = task_ctx_of(task);

	if (!t)
		return 0;
	/* A thread that execs takes its leader's number. */
	t->sums.tid = task->pid;
	if (is_target(t))
		announce(task, t, bpf_ktime_get_ns(), 0, comm);
	else /* the next record that names the task brings the new name */
		t->announced = 0;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(wst_process_exit, struct task_struct *task)
{
	struct task_ctx *t = task_ctx_of(task);

	if (t && is_target(t))
		emit_last(task, WST_EXIT, bpf_ktime_get_ns());
	return 0;
}

static __always_inline bool descends_from_target(struct task_struct *task)
{
	struct task_struct *ancestor = task;

	for (int i = 0; i < MAX_ANCESTORS; i++) {
		__u32 tgid = BPF_CORE_READ(ancestor, tgid);
		struct task_struct *parent;

		if (bpf_map_lookup_elem(&targets, &tgid))
			return true;
		parent = BPF_CORE_READ(ancestor, real_parent);
		if (!parent || parent == ancestor || !tgid)
			return false;
		ancestor = parent;
	}
	return false;
}

/* After task_newtask is attached and before the scheduler hooks are: storage for all, marks for
 * targets. */
SEC("iter/task")
int wst_adopt(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_ctx *t;
	__u64 now;

	if (!task || !task->pid)
		return 0;
	t = make_ctx(task);
	now = bpf_ktime_get_ns();
	if (!t) {
		count_loss(WST_LOST_STORAGE, now);
		return 0;
	}
	if (t->emit_until || (__u32)task->tgid == cfg_self_tgid || !descends_from_target(task))
		return 0;
	t->emit_until = EMIT_ALWAYS;
	announce(task, t, now, 0, task->comm);
	return 0;
}

/*
 * After the scheduler hooks are attached: where the tasks are that have not moved since. One that
 * sleeps is described from its registers; when that wait began is not known, so now is its lower
 * bound.
 */
SEC("iter/task")
int wst_settle(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_ctx *t;
	__u64 now;
	__u32 state;

	if (!task || !task->pid)
		return 0;
	t = task_ctx_of(task);
	if (!t || t->in_ns || t->out_ns || (task->flags & PF_KTHREAD))
		return 0;
	now = bpf_ktime_get_ns();
	if (task->on_cpu) {
		t->since_ns = now;
		t->in_ns = now;
		return 0;
	}
	state = task->__state;
	t->state = state;
	t->wait_flags = WST_WAIT_BEFORE | (state ? WST_WAIT_BLOCKED : 0);
	if (state && BPF_CORE_READ_BITFIELD(task, in_iowait))
		t->wait_flags |= WST_WAIT_IOWAIT;
	t->cpu_out = BPF_CORE_READ(task, thread_info.cpu);
	t->major_faults = (__u32)task->maj_flt;
	if (state)
		decode_wait(task, t, state, false, false);
	else
		forget_wait(t);
	t->out_ns = now;
	/* It ran while it was looked at: the hooks know better. */
	if (t->in_ns)
		t->out_ns = 0;
	return 0;
}

static __always_inline void show(struct task_struct *task, struct task_ctx *t, __u64 now)
{
	if (t->out_ns) {
		if (identify_if_same(task, t))
			note_wanted(t);
		emit_wait(task, t, now, WST_WAIT_OPEN);
	} else if (t->in_ns) {
		emit_run(task, t, now);
	}
}

/* What a task's driver calls have come to, without ending it: the task may be making the next one
 * on another CPU. */
static __always_inline void show_calls(const struct task_ctx *t, __u64 now)
{
	struct wst_api *r;
	__u64 entry = t->api_entry_ns;

	if (t->run.count != t->run.told)
		emit_run_of_calls(t);
	if (!entry)
		return;
	r = new_api(t, t->api_cookie & 0xff, (__u16)(t->api_cookie >> 32), now, entry);
	if (!r)
		return;
	r->stream = t->api_stream;
	r->event = t->api_event;
	r->bytes = t->api_bytes;
	r->ret = WST_API_OPEN;
	if (t->api_entry_ns != entry) { /* it returned meanwhile */
		bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
		return;
	}
	submit(r);
}

/* Each second and at the end: the waits that are not over, and the runs. */
SEC("iter/task")
int wst_dump(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_ctx *t;
	__u64 now;

	if (!task || !task->pid)
		return 0;
	t = task_ctx_of(task);
	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (!emits(t, now))
		return 0;
	wst_copy_sums(t, now, WST_SUMS_SNAPSHOT);
	show(task, t, now);
	show_calls(t, now);
	return 0;
}

/* The journals of tasks that other journals name as wakers: user space asks, each once. */
SEC("iter/task")
int wst_journals(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 tid;
	struct task_ctx *t;
	__u8 *asked;
	__u64 now;

	if (!task || !task->pid)
		return 0;
	tid = task->pid;
	asked = bpf_map_lookup_elem(&named_tasks, &tid);
	if (!asked || *asked)
		return 0;
	*asked = 1;
	t = task_ctx_of(task);
	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (emits(t, now))
		return 0;
	if (!t->announced)
		announce(task, t, now, 0, task->comm);
	if (task->flags & PF_KTHREAD)
		return 0;
	wst_copy_sums(t, now, WST_SUMS_JOURNAL);
	show(task, t, now);
	return 0;
}
