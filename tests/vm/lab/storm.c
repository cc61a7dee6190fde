// SPDX-License-Identifier: Apache-2.0
/*
 * A load, until it is killed:
 *   storm tasks       makes short-lived threads and processes, up to some hundred at a time, and
 * says once a second how many threads it made storm pages FILE  reads FILE into the page cache over
 * and over storm locks FILE  one thread for each CPU calls getppid in a loop, one more writes FILE
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH 200
#define STACK_BYTES (16 * 1024)
#define READ_BYTES (1024 * 1024)
#define WRITE_BYTES (256 * 1024)

static int start_pipe[2];

static void *wait_for_start(void *argument)
{
	char byte;

	(void)argument;
	if (read(start_pipe[0], &byte, 1) != 1)
		_exit(1);
	return NULL;
}

static bool start_all(int waiting)
{
	static const char bytes[BATCH];

	return write(start_pipe[1], bytes, (size_t)waiting) == waiting;
}

/* All of a batch are there at once and then none: what is kept for each of them is asked for anew
 * with the next batch, and not just handed on from one that has ended. */
static int make_threads(void)
{
	long total = 0;
	time_t last = time(NULL);
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (;;) {
		pthread_t threads[BATCH];
		int made = 0;

		while (made < BATCH &&
		       !pthread_create(&threads[made], &attributes, wait_for_start, NULL))
			made++;
		if (!start_all(made))
			return 1;
		for (int i = 0; i < made; i++)
			pthread_join(threads[i], NULL);
		total += made;
		if (time(NULL) != last) {
			last = time(NULL);
			printf("storm: %ld threads\n", total);
		}
	}
}

static int make_processes(void)
{
	for (;;) {
		int made = 0;

		for (int i = 0; i < BATCH / 10; i++) {
			pid_t pid = fork();

			if (pid == 0) {
				wait_for_start(NULL);
				_exit(0);
			}
			made += pid > 0;
		}
		if (!start_all(made))
			return 1;
		while (waitpid(-1, NULL, 0) > 0)
			;
	}
}

/* Two processes: forking the one with the threads would copy all their stacks' mappings. */
static int make_tasks(void)
{
	pid_t forker = fork();

	if (forker < 0 || pipe(start_pipe))
		return 1;
	if (forker > 0)
		return make_threads();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return make_processes();
}

/* Reads a file into the page cache over and over, without the copy to user space, which an emulated
 * CPU does slowly: memory is always short then. */
static int read_pages(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	char byte;

	if (size <= 0)
		return 1;
	for (;;)
		for (off_t at = 0; at < size; at += READ_BYTES) {
			readahead(fd, at, READ_BYTES);
			if (pread(fd, &byte, 1, at + READ_BYTES - 1) < 0)
				return 1;
		}
}

static void *call(void *argument)
{
	(void)argument;
	for (;;)
		syscall(SYS_getppid);
	return NULL;
}

/* A write keeps the file's lock while it copies, and may lose the CPU meanwhile: then the others do
 * not spin for that lock, but sleep. */
static void *rewrite(void *argument)
{
	static const char bytes[WRITE_BYTES];
	int fd = open(argument, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (fd >= 0 && pwrite(fd, bytes, sizeof(bytes), 0) > 0)
		;
	perror("storm: write");
	exit(1);
}

static int contend(char *path)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread;

	for (long i = 0; i < cpus * 2; i++)
		if (pthread_create(&thread, NULL, i % 2 ? rewrite : call, path))
			return 1;
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "tasks"))
		return make_tasks();
	if (argc == 3 && !strcmp(argv[1], "pages"))
		return read_pages(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "locks"))
		return contend(argv[2]);
	fputs("usage: storm tasks | storm pages FILE | storm locks FILE\n", stderr);
	return 2;
}
