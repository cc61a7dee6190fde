// SPDX-License-Identifier: Apache-2.0
//
// x32 DRIVER: makes calls of the x32 ABI that wait 30 ms each, from this 64-bit program, after a
// line on its input. Prints the number that the 64-bit call has, the kind of file, and when it
// began and ended. 77: the kernel has no such calls (syscall.x32=y).
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define X32_BIT 0x40000000
#define X32_READV 515
#define X32_RECVFROM 517
#define WAIT_NS 30000000

/* As x32 lays it out: pointers have four bytes. */
struct iovec32 {
	uint32_t base;
	uint32_t length;
};

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A child that writes one byte in a while. */
static void write_later(int fd)
{
	struct timespec span = {0, WAIT_NS};

	if (fork() == 0) {
		nanosleep(&span, NULL);
		_exit(write(fd, "x", 1) == 1 ? 0 : 1);
	}
}

static int wait_in(long call, int nr, const char *kind, long a, long b, long c)
{
	long long start = now_ns();
	long result = syscall(call | X32_BIT, a, b, c, 0, 0, 0);

	if (result < 0) {
		fprintf(stderr, "x32: call %ld: %s\n", call, strerror(errno));
		return errno == ENOSYS ? 77 : 1;
	}
	printf("truth %d %s %lld %lld\n", nr, kind, start, now_ns());
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec span = {0, WAIT_NS};
	struct iovec32 *vector;
	char line[16], *low;
	int ends[2], pair[2], failed;

	if (argc != 2 || !dlopen(argv[1], RTLD_NOW) || pipe(ends) ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
		   0);
	if (low == MAP_FAILED)
		return 1;
	vector = (struct iovec32 *)low;
	vector->base = (uint32_t)(uintptr_t)(low + 64);
	vector->length = 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	failed = wait_in(SYS_nanosleep, SYS_nanosleep, "none", (long)&span, 0, 0);
	if (failed)
		return failed;
	write_later(ends[1]);
	failed = wait_in(SYS_read, SYS_read, "pipe", ends[0], (long)low, 1);
	write_later(ends[1]);
	failed |= wait_in(X32_READV, SYS_readv, "pipe", ends[0], (long)vector, 1);
	write_later(pair[1]);
	failed |= wait_in(X32_RECVFROM, SYS_recvfrom, "unix", pair[0], (long)low, 1);
	return failed;
}
