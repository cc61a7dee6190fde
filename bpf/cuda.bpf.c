// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Calls of the accelerator's driver API, at the library's exported functions. The probe sits on the
 * file, so every process that maps it hits it; anything but a target leaves at once. What each
 * function does and where its arguments are comes with the attach cookie.
 */
#include "api.h"
#include "common.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define COOKIE_CALL(cookie) ((__u16)((cookie) & 0xff))
#define COOKIE_SYMBOL(cookie) ((__u16)((cookie) >> 32))
#define COOKIE_STREAM_ARG(cookie) ((cookie) >> 8 & 0xff)
#define COOKIE_EVENT_ARG(cookie) ((cookie) >> 16 & 0xff)
#define COOKIE_BYTES_ARG(cookie) ((cookie) >> 48 & 0xff)

static __always_inline __u64 read_word(__u64 address)
{
	__u64 value = 0;

	if (bpf_probe_read_user(&value, sizeof(value), (void *)address))
		return WST_STREAM_UNKNOWN;
	return value;
}

static __always_inline __u64 argument(struct pt_regs *regs, __u32 index)
{
	/* All are loaded: the compiler would choose among addresses in the context, which the
	 * verifier refuses. */
	volatile __u64 in_register[8] = {regs->di, regs->si, regs->dx,
					 regs->cx, regs->r8, regs->r9};

	if (index < 6) {
		barrier_var(index); /* or the bound that the verifier sees would go */
		return in_register[index & 7];
	}
	if (index == WST_ARG_RESULT) /* the address, until the return */
		return in_register[0];
	if (index >= WST_ARG_UNKNOWN)
		return WST_STREAM_UNKNOWN;
	if (index & 0x80)
		return read_word(in_register[0] + 8 * (index & 0x7f));
	/* [sp] is the return address, the seventh argument lies above it. */
	return read_word(regs->sp + 8 * (index - 5));
}

static __always_inline __u64 stream_of(struct pt_regs *regs, __u64 cookie)
{
	__u32 index = COOKIE_STREAM_ARG(cookie);
	__u64 stream = index == WST_ARG_NONE ? 0 : argument(regs, index);

	if (stream == 0)
		stream = (cookie >> 24) & 1 ? WST_STREAM_PER_THREAD : WST_STREAM_LEGACY;
	return stream;
}

static __always_inline __u64 event_of(struct pt_regs *regs, __u64 cookie)
{
	__u32 index = COOKIE_EVENT_ARG(cookie);

	return index == WST_ARG_NONE ? 0 : argument(regs, index); /* ~0 for WST_ARG_UNKNOWN */
}

static __always_inline __u64 bytes_of(struct pt_regs *regs, __u64 cookie)
{
	__u32 index = COOKIE_BYTES_ARG(cookie);

	return index >= WST_ARG_UNKNOWN ? 0 : argument(regs, index);
}

/* The current task's, if it is a target; then the run is the caller's until leave(). */
static __always_inline struct task_ctx *enter(void)
{
	struct task_ctx *t = task_ctx_of(bpf_get_current_task_btf());

	if (!t || !is_target(t))
		return NULL;
	t->run.busy = 1;
	return t;
}

static __always_inline int leave(struct task_ctx *t)
{
	t->run.busy = 0;
	return 0;
}

static __always_inline void count_submit(struct task_ctx *t, __u64 cookie, __u64 stream, __u64 now)
{
	struct api_run *run = &t->run;

	if (run->count && run->call == WST_API_SUBMIT && run->stream == stream &&
	    now - run->last_ns <= WST_API_RUN_GAP_NS && now - run->first_ns <= WST_API_RUN_NS) {
		t->submits++;
		run->count++;
		run->last_ns = now;
		return;
	}
	wst_tell_run(t); /* before it counts the new submit */
	t->submits++;
	run->first_ns = run->last_ns = now;
	run->stream = stream;
	run->event = 0;
	run->ret = 0;
	run->told = 0;
	run->call = WST_API_SUBMIT;
	run->symbol = COOKIE_SYMBOL(cookie);
	run->count = 1;
}

/* Entry of a call that submits work, or that does something to streams, events and contexts. Rate:
 * once per launch. */
SEC("uprobe")
int wst_api_submit(struct pt_regs *ctx)
{
	struct task_ctx *t = enter();
	__u64 cookie, now;
	struct wst_api *r;

	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	cookie = bpf_get_attach_cookie(ctx);
	if (COOKIE_CALL(cookie) == WST_API_SUBMIT) {
		count_submit(t, cookie, stream_of(ctx, cookie), now);
		return leave(t);
	}
	wst_tell_run(t);
	r = new_api(t, COOKIE_CALL(cookie), COOKIE_SYMBOL(cookie), now, now);
	if (r) {
		r->stream = stream_of(ctx, cookie);
		r->event = event_of(ctx, cookie);
		r->ret = 0;
		submit(r);
	}
	return leave(t);
}

/* What is kept of a call until its return. */
static __always_inline void begin_timed(struct task_ctx *t, struct pt_regs *ctx, __u64 cookie,
					__u64 now)
{
	t->api_cookie = cookie;
	t->api_sp = ctx->sp;
	t->api_stream = stream_of(ctx, cookie);
	t->api_event = event_of(ctx, cookie);
	t->api_bytes = bytes_of(ctx, cookie);
	t->api_cpu = bpf_get_smp_processor_id();
	t->api_steal = stolen_so_far();
	t->api_entry_ns = now;
}

/* False: the return of a call within the one that is timed, or of one whose entry was not seen. */
static __always_inline bool is_its_return(const struct task_ctx *t, struct pt_regs *ctx)
{
	return t->api_entry_ns && ctx->sp == t->api_sp + 8;
}

/* Not made by another timed call. A longjmp out of one leaves it behind, until the next call at or
 * above its place: so submits are told wherever they are made, and only proofs may be missed. */
static __always_inline bool is_outermost(const struct task_ctx *t, struct pt_regs *ctx)
{
	return !t->api_entry_ns || ctx->sp >= t->api_sp;
}

/* Entry of a call that waits for the device, or that may take long: kept until its return. */
SEC("uprobe")
int wst_api_sync(struct pt_regs *ctx)
{
	struct task_ctx *t = enter();
	__u64 cookie, now;
	__u16 call;

	if (!t)
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	call = COOKIE_CALL(cookie);
	now = bpf_ktime_get_ns();
	wst_tell_run(t);
	if (is_outermost(t, ctx))
		begin_timed(t, ctx, cookie, now);
	if (call == WST_API_SYNC_COPY || call == WST_API_COPY) {
		struct wst_api *r;

		t->submits++;
		r = new_api(t, WST_API_SUBMIT, COOKIE_SYMBOL(cookie), now, now);
		if (r) {
			r->stream = stream_of(ctx, cookie);
			r->event = 0;
			r->ret = 0;
			r->bytes = bytes_of(ctx, cookie);
			submit(r);
		}
	}
	return leave(t);
}

/* When the call that is timed was entered, if this is its return: then it is over. Else 0. */
static __always_inline __u64 end_timed(struct task_ctx *t, struct pt_regs *ctx)
{
	__u64 entry = t->api_entry_ns;

	if (!is_its_return(t, ctx))
		return 0;
	t->api_entry_ns = 0;
	return entry;
}

static __always_inline bool only_when_long(__u16 call)
{
	return call == WST_API_COPY || call == WST_API_MEMORY;
}

SEC("uretprobe")
int wst_api_sync_return(struct pt_regs *ctx)
{
	struct task_ctx *t = enter();
	__u64 cookie, entry, now, stolen;
	struct wst_api *r;
	__u16 call;

	if (!t)
		return 0;
	entry = end_timed(t, ctx);
	if (!entry)
		return leave(t);
	now = bpf_ktime_get_ns();
	cookie = t->api_cookie;
	call = COOKIE_CALL(cookie);
	if (only_when_long(call) && now - entry < WST_API_LONG_NS)
		return leave(t);
	r = new_api(t, call, COOKIE_SYMBOL(cookie), now, entry);
	if (!r)
		return leave(t);
	r->stream = t->api_stream;
	r->event = t->api_event;
	r->bytes = t->api_bytes;
	r->ret = (__s32)ctx->ax;
	stolen = stolen_so_far();
	if (bpf_get_smp_processor_id() == t->api_cpu)
		r->stolen_ns = stolen - t->api_steal;
	else if (stolen || t->api_steal)
		r->stolen_ns = STOLEN_UNKNOWN; /* else neither CPU was ever taken */
	if (COOKIE_STREAM_ARG(cookie) == WST_ARG_RESULT)
		r->stream = read_word(r->stream);
	if (COOKIE_EVENT_ARG(cookie) == WST_ARG_RESULT)
		r->event = read_word(r->event);
	submit(r);
	return leave(t);
}

/* Queries are told apart from the rest because they can be done without: a program that polls pays
 * most for them, and a proof less is no harm. */
SEC("uprobe")
int wst_api_query(struct pt_regs *ctx)
{
	struct task_ctx *t = enter();

	if (!t)
		return 0;
	if (is_outermost(t, ctx))
		begin_timed(t, ctx, bpf_get_attach_cookie(ctx), bpf_ktime_get_ns());
	return leave(t);
}

static __always_inline bool goes_on(const struct api_run *run, __u16 call, const struct task_ctx *t,
				    __s32 ret, __u64 entry)
{
	return run->count && run->call == call && run->ret == ret && run->stream == t->api_stream &&
	       run->event == t->api_event && entry - run->first_ns <= WST_API_RUN_NS;
}

SEC("uretprobe")
int wst_api_query_return(struct pt_regs *ctx)
{
	struct task_ctx *t = enter();
	struct api_run *run;
	__u64 entry, now;
	__u16 call;
	__s32 ret;

	if (!t)
		return 0;
	entry = end_timed(t, ctx);
	if (!entry)
		return leave(t);
	now = bpf_ktime_get_ns();
	call = COOKIE_CALL(t->api_cookie);
	ret = (__s32)ctx->ax;
	run = &t->run;
	if (goes_on(run, call, t, ret, entry)) {
		run->count++;
	} else {
		wst_tell_run(t);
		run->first_ns = entry;
		run->stream = t->api_stream;
		run->event = t->api_event;
		run->ret = ret;
		run->told = 0;
		run->call = call;
		run->symbol = COOKIE_SYMBOL(t->api_cookie);
		run->count = 1;
	}
	run->last_ns = entry;
	run->end_ns = now;
	/* A proof that work is done counts from its first moment on. */
	if (ret == WST_API_DONE && !run->told)
		wst_tell_run_so_far(t);
	return leave(t);
}
