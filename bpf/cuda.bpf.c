// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Calls of the accelerator's driver API, at the library's exported functions. The probe sits on the
 * file, so every process that maps it hits it; anything but a target leaves at once. What each
 * function does and where its arguments are comes with the attach cookie.
 */
#include "common.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline __u64 argument(struct pt_regs *regs, __u32 index)
{
	__u64 value = WST_STREAM_UNKNOWN;

	switch (index) {
	case 0:
		return BPF_CORE_READ(regs, di);
	case 1:
		return BPF_CORE_READ(regs, si);
	case 2:
		return BPF_CORE_READ(regs, dx);
	case 3:
		return BPF_CORE_READ(regs, cx);
	case 4:
		return BPF_CORE_READ(regs, r8);
	case 5:
		return BPF_CORE_READ(regs, r9);
	}
	if (index >= WST_ARG_UNKNOWN)
		return WST_STREAM_UNKNOWN;
	/* [sp] is the return address, the seventh argument lies above it. */
	if (bpf_probe_read_user(&value, sizeof(value),
				(void *)(BPF_CORE_READ(regs, sp) + 8 * (index - 5))))
		return WST_STREAM_UNKNOWN;
	return value;
}

static __always_inline __u64 stream_of(struct pt_regs *regs, __u64 cookie)
{
	__u32 index = (cookie >> 8) & 0xff;
	__u64 stream;

	if (index == WST_ARG_NONE)
		stream = 0;
	else
		stream = argument(regs, index);
	if (stream == 0)
		stream = (cookie >> 24) & 1 ? WST_STREAM_PER_THREAD : WST_STREAM_LEGACY;
	return stream;
}

static __always_inline void emit_api(__u16 call, __u64 cookie, __u64 entry, __u64 now, __u64 stream,
				     __u64 event, __s32 ret)
{
	struct wst_api *r = new_record(sizeof(*r), WST_API, WST_LOST_API, now);
	__u64 id = bpf_get_current_pid_tgid();

	if (!r)
		return;
	r->entry_ns = entry;
	r->stream = stream;
	r->event = event;
	r->tid = (__u32)id;
	r->tgid = id >> 32;
	r->call = call;
	r->symbol = (__u16)(cookie >> 32);
	r->ret = ret;
	submit(r);
}

/* Entry of a call that submits work or records an event. Rate: once per launch. */
SEC("uprobe")
int wst_api_submit(struct pt_regs *ctx)
{
	struct task_ctx *t = task_ctx_of(bpf_get_current_task_btf());
	__u64 cookie, now, event = 0;
	__u32 event_arg;

	if (!t || !is_target(t))
		return 0;
	now = bpf_ktime_get_ns();
	cookie = bpf_get_attach_cookie(ctx);
	event_arg = (cookie >> 16) & 0xff;
	if (event_arg != WST_ARG_NONE)
		event = argument(ctx, event_arg); /* ~0 for WST_ARG_UNKNOWN */
	emit_api(cookie & 0xff, cookie, now, now, stream_of(ctx, cookie), event, 0);
	return 0;
}

/* Entry of a call that waits for the device: kept until its return. */
SEC("uprobe")
int wst_api_sync(struct pt_regs *ctx)
{
	struct task_ctx *t = task_ctx_of(bpf_get_current_task_btf());
	__u64 cookie;
	__u32 event_arg;

	if (!t || !is_target(t))
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	event_arg = (cookie >> 16) & 0xff;
	t->api_entry_ns = bpf_ktime_get_ns();
	t->api_stream = stream_of(ctx, cookie);
	t->api_event = event_arg == WST_ARG_NONE ? 0 : argument(ctx, event_arg);
	if ((cookie & 0xff) == WST_API_SYNC_COPY)
		emit_api(WST_API_SUBMIT, cookie, t->api_entry_ns, t->api_entry_ns, t->api_stream, 0,
			 0);
	return 0;
}

SEC("uretprobe")
int wst_api_sync_return(struct pt_regs *ctx)
{
	struct task_ctx *t = task_ctx_of(bpf_get_current_task_btf());
	__u64 cookie, entry;

	if (!t || !is_target(t) || !t->api_entry_ns)
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	entry = t->api_entry_ns;
	t->api_entry_ns = 0;
	emit_api(cookie & 0xff, cookie, entry, bpf_ktime_get_ns(), t->api_stream, t->api_event,
		 (__s32)ctx->ax);
	return 0;
}
