// SPDX-License-Identifier: Apache-2.0
/*
 * lab MODE: attaches one of the programs beside, in the right or the wrong way, prints "attached"
 * and once a second what it counted, until it is killed.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "contention.skel.h"
#include "storage.skel.h"

static bool in_guest(void)
{
	char line[4096];
	FILE *f = fopen("/proc/cmdline", "r");
	bool found = f && fgets(line, sizeof(line), f) && strstr(line, " WHYSTALL_GUEST=1");

	if (f)
		fclose(f);
	return found;
}

static double uptime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_iterator(struct bpf_program *program)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	char unused[64];

	if (fd < 0)
		return -1;
	while (read(fd, unused, sizeof(unused)) > 0)
		;
	close(fd);
	return bpf_link__destroy(link);
}

static int storage(bool create_in_switch)
{
	struct storage *s = storage__open();

	if (!s)
		return 1;
	s->rodata->create_in_switch = create_in_switch;
	bpf_program__set_autoload(s->progs.lab_newtask, !create_in_switch);
	bpf_program__set_autoload(s->progs.lab_adopt, !create_in_switch);
	if (storage__load(s))
		return 1;
	/* First all that create, only then what looks up. */
	if (!create_in_switch) {
		s->links.lab_newtask = bpf_program__attach(s->progs.lab_newtask);
		if (!s->links.lab_newtask || run_iterator(s->progs.lab_adopt))
			return 1;
	}
	s->links.lab_switch = bpf_program__attach(s->progs.lab_switch);
	if (!s->links.lab_switch)
		return 1;
	puts("attached");
	for (;;) {
		sleep(1);
		printf("lab %.1f: found %llu, missed %llu, made elsewhere %llu\n", uptime(),
		       s->bss->found, s->bss->missed, s->bss->made);
	}
}

static int drop(void *context, void *data, size_t size)
{
	(void)context;
	(void)data;
	(void)size;
	return 0;
}

static int contention(bool reserve_in_end)
{
	struct contention *c = contention__open();
	struct ring_buffer *ring;
	double next;

	if (!c)
		return 1;
	c->rodata->reserve_in_end = reserve_in_end;
	if (contention__load(c) || contention__attach(c))
		return 1;
	ring = ring_buffer__new(bpf_map__fd(c->maps.records), drop, NULL, NULL);
	if (!ring)
		return 1;
	puts("attached");
	for (next = uptime() + 1;; usleep(1000)) {
		ring_buffer__consume(ring);
		if (uptime() < next)
			continue;
		next += 1;
		printf("lab %.1f: records %llu, spins %llu, noted %llu, told %llu\n", uptime(),
		       c->bss->calls, c->bss->spins, c->bss->noted, c->bss->told);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc == 2 ? argv[1] : "";

	if (!in_guest()) {
		fputs("lab: half of its modes stop the machine; it runs in guests of tools/vm-run "
		      "only\n",
		      stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* What it prints must not wait for its own pages when memory is short. */
	mlockall(MCL_CURRENT);
	if (!strcmp(mode, "storage-create"))
		return storage(true);
	if (!strcmp(mode, "storage-lookup"))
		return storage(false);
	if (!strcmp(mode, "ring-reserve"))
		return contention(true);
	if (!strcmp(mode, "ring-note"))
		return contention(false);
	fputs("usage: lab storage-create|storage-lookup|ring-reserve|ring-note\n", stderr);
	return 2;
}
