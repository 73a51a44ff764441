/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Compares the machine's runnable threads (/proc/loadavg) with the CPUs that the progress thread may use. These are
 * the CPUs of the process: the program may pin its own threads, but not this one. Yielding and checking whether other
 * threads run would tell less, since the scheduler favors threads that have slept.
 */

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "progress/cpu_load.h"
#include "uroce_config.h"

#define LINE_BYTES 128

void
uroce_cpu_load_init(struct uroce_cpu_load *c, const char *path, pid_t thread)
{
	*c = (struct uroce_cpu_load){ .fd = open(path, O_RDONLY | O_CLOEXEC), .thread = thread };
}

/* "0.20 0.18 0.12 1/80 11206": the fourth field. @return 0: not found */
static unsigned int
running(int fd)
{
	char line[LINE_BYTES];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	unsigned int count;

	if (n <= 0)
		return 0;
	line[n] = '\0';
	/* skip the averages unparsed: the program's locale may have another decimal point */
	return sscanf(line, "%*s %*s %*s %u/", &count) == 1 ? count : 0;
}

/* The affinity is read each time: a cpuset or taskset(1) may change it. @return 0: unknown */
static unsigned int
processors(pid_t thread)
{
	cpu_set_t cpus;

	return sched_getaffinity(thread, sizeof(cpus), &cpus) == 0 ? (unsigned int)CPU_COUNT(&cpus) : 0;
}

static void
look(struct uroce_cpu_load *c, uint64_t now_ns)
{
	uint64_t looked_ns = __atomic_load_n(&c->looked_ns, __ATOMIC_RELAXED);

	if (looked_ns != 0 && now_ns < looked_ns + UROCE_VERBS_CROWD_NS)
		return;
	__atomic_store_n(&c->running, running(c->fd), __ATOMIC_RELAXED);
	__atomic_store_n(&c->processors, processors(c->thread), __ATOMIC_RELAXED);
	__atomic_store_n(&c->looked_ns, now_ns, __ATOMIC_RELAXED);
}

bool
uroce_cpu_load_is_high(struct uroce_cpu_load *c, uint64_t now_ns)
{
	unsigned int count, cpus;

	look(c, now_ns);
	count = __atomic_load_n(&c->running, __ATOMIC_RELAXED);
	cpus = __atomic_load_n(&c->processors, __ATOMIC_RELAXED);
	/* on a single CPU this thread delays all others of its program */
	return count == 0 || cpus <= 1 || count > cpus;
}
