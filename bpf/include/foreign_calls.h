/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * System calls of 32-bit programs and of the x32 ABI as the x86-64 calls that do the same, so that
 * a recording knows one set of numbers. Numbers are ABI: arch/x86/entry/syscalls.
 */
#ifndef WHYSTALL_BPF_FOREIGN_CALLS_H
#define WHYSTALL_BPF_FOREIGN_CALLS_H

#include "kernel_types.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "abi/syscalls.h"

/* -1: a call that is not told apart, socketcall() and ipc() for example. */
static __always_inline __s32 native_of_i386(__s32 nr)
{
	switch (nr) {
	case 0:
		return WST_NR_RESTART_SYSCALL;
	case 3:
		return WST_NR_READ;
	case 4:
		return WST_NR_WRITE;
	case 5:
		return WST_NR_OPEN;
	case 7: /* waitpid */
	case 114:
		return WST_NR_WAIT4;
	case 29:
		return WST_NR_PAUSE;
	case 54:
		return WST_NR_IOCTL;
	case 55:
	case 221: /* fcntl64 */
		return WST_NR_FCNTL;
	case 118:
		return WST_NR_FSYNC;
	case 141:
		return WST_NR_GETDENTS;
	case 142:
		return WST_NR_SELECT;
	case 143:
		return WST_NR_FLOCK;
	case 145:
		return WST_NR_READV;
	case 146:
		return WST_NR_WRITEV;
	case 148:
		return WST_NR_FDATASYNC;
	case 162:
		return WST_NR_NANOSLEEP;
	case 168:
		return WST_NR_POLL;
	case 177:
	case 421: /* with 64-bit times */
		return WST_NR_SIGTIMEDWAIT;
	case 180:
		return WST_NR_PREAD64;
	case 181:
		return WST_NR_PWRITE64;
	case 190:
		return WST_NR_VFORK;
	case 220:
		return WST_NR_GETDENTS64;
	case 240:
	case 422: /* with 64-bit times */
		return WST_NR_FUTEX;
	case 256:
		return WST_NR_EPOLL_WAIT;
	case 267:
	case 407: /* with 64-bit times */
		return WST_NR_CLOCK_NANOSLEEP;
	case 279:
	case 418:
		return WST_NR_MQ_TIMEDSEND;
	case 280:
	case 419:
		return WST_NR_MQ_TIMEDRECEIVE;
	case 284:
		return WST_NR_WAITID;
	case 295:
		return WST_NR_OPENAT;
	case 308:
	case 413:
		return WST_NR_PSELECT6;
	case 309:
	case 414:
		return WST_NR_PPOLL;
	case 313:
		return WST_NR_SPLICE;
	case 319:
		return WST_NR_EPOLL_PWAIT;
	case 333:
		return WST_NR_PREADV;
	case 334:
		return WST_NR_PWRITEV;
	case 362:
		return WST_NR_CONNECT;
	case 364:
		return WST_NR_ACCEPT4;
	case 369:
		return WST_NR_SENDTO;
	case 370:
		return WST_NR_SENDMSG;
	case 371:
		return WST_NR_RECVFROM;
	case 372:
		return WST_NR_RECVMSG;
	case 400:
		return WST_NR_MSGSND;
	case 401:
		return WST_NR_MSGRCV;
	case 420:
		return WST_NR_SEMTIMEDOP;
	case 426:
		return WST_NR_IO_URING_ENTER;
	}
	return -1;
}

/* Below 512 the numbers are those of x86-64. */
static __always_inline __s32 native_of_x32(__s32 nr)
{
	switch (nr) {
	case 514:
		return WST_NR_IOCTL;
	case 515:
		return WST_NR_READV;
	case 516:
		return WST_NR_WRITEV;
	case 517:
		return WST_NR_RECVFROM;
	case 518:
		return WST_NR_SENDMSG;
	case 519:
		return WST_NR_RECVMSG;
	case 523:
		return WST_NR_SIGTIMEDWAIT;
	case 529:
		return WST_NR_WAITID;
	case 532:
		return WST_NR_VMSPLICE;
	case 534:
		return WST_NR_PREADV;
	case 535:
		return WST_NR_PWRITEV;
	case 537:
		return WST_NR_RECVMMSG;
	case 538:
		return WST_NR_SENDMMSG;
	case 546:
		return WST_NR_PREADV2;
	case 547:
		return WST_NR_PWRITEV2;
	}
	return nr < 512 ? nr : -1;
}

/*
 * The call that orig_ax names, as x86-64 numbers it; -1 none that is told apart. A function of its
 * own, so that the kernel verifies its many paths once.
 */
__weak int wst_native_call(__u32 orig_ax, __u32 compat)
{
	if ((__s32)orig_ax < 0)
		return -1;
	if (compat)
		return native_of_i386(orig_ax);
	if (orig_ax & X32_SYSCALL_BIT)
		return native_of_x32(orig_ax & ~X32_SYSCALL_BIT);
	return orig_ax;
}

#endif
